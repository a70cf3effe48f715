import { spawn } from "node:child_process";
import process from "node:process";

const FATAL_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const living = new Set<number>();

/**
 * Sends a signal to a whole process group, by the id of its leader. A group that is gone is no error. Windows has no
 * groups and no signals: there the process tree is ended.
 */
export function killGroup(pid: number, signal: NodeJS.Signals): void {
  if (process.platform === "win32") {
    spawn("taskkill", ["/pid", String(pid), "/T", "/F"], { stdio: "ignore", windowsHide: true }).on("error", () => {});
    return;
  }
  try {
    process.kill(-pid, signal);
  } catch {
    // ESRCH: everything in it has ended. EPERM: what is left belongs to another user and cannot be ended by us.
  }
}

/** Whether anything of a process group is still there, by the id of its leader. */
export function hasGroup(pid: number): boolean {
  try {
    return process.kill(-pid, 0);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/**
 * Remembers a group that must not outlive this process. Its children lead groups of their own, so neither a Ctrl-C at
 * the terminal nor the end of this process would reach them.
 */
export function trackGroup(pid: number): void {
  if (living.size === 0) {
    process.on("exit", killAll);
    for (const signal of FATAL_SIGNALS) process.on(signal, onFatalSignal);
  }
  living.add(pid);
}

/** Forgets a group that has ended. */
export function untrackGroup(pid: number): void {
  if (!living.delete(pid) || living.size > 0) return;
  process.off("exit", killAll);
  for (const signal of FATAL_SIGNALS) process.off(signal, onFatalSignal);
}

function killAll(): void {
  for (const pid of living) killGroup(pid, "SIGKILL");
}

/** A signal that nobody else handles ends this process as if we had not listened either, but not before its groups. */
function onFatalSignal(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 1) return;
  killAll();
  process.off(signal, onFatalSignal);
  process.kill(process.pid, signal);
}
