export type { Approval, ApprovalScope, ApprovalStatus, ApprovalVote } from "../approvals/approval.ts";
export type {
  ApprovalCallOptions,
  ApprovalCancelInput,
  ApprovalDecisionInput,
  ApprovalList,
  ApprovalListOptions,
  ApprovalWaitOptions,
  GatewayApprovals,
} from "./approval-options.ts";
export { createGatewayClient, type GatewayClient } from "./client.ts";
export type { GatewayFetch, GatewayRequest, GatewayResponse } from "./fetch.ts";
export type { GatewayClientOptions, GatewayClientTimeouts, GatewayFailurePolicy } from "./options.ts";
export type { GatewayClientSigning } from "./signing.ts";
