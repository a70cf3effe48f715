import { report } from "./report.ts";

export default {
  async test(): Promise<void> {
    await report(console.log);
  },
};
