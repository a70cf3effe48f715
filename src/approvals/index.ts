export {
  type ActorStorage,
  ApprovalActor,
  type ApprovalActorOptions,
  type ApprovalPeer,
  type ChangedRow,
  type RowCreation,
  type RowQuery,
} from "./actor.ts";
export {
  type Approval,
  APPROVAL_SCOPES,
  APPROVAL_STATUSES,
  type ApprovalEnding,
  type ApprovalRisk,
  approvalSchema,
  type ApprovalScope,
  type ApprovalStatus,
  type ApprovalVote,
  HOUR_SCOPE_MS,
  isLapsed,
  isOpen,
  type Requester,
  SESSION_SCOPE_MS,
} from "./approval.ts";
export { type BoundCall, toArgumentsHash, toCallHash } from "./call-hash.ts";
export { ChangeHub } from "./change-hub.ts";
export { toApprovalEvent } from "./event.ts";
export {
  createHumanApprovalHook,
  HUMAN_APPROVAL,
  type HumanApprovalParts,
  type OptionalApprovalParts,
  registerHumanApproval,
} from "./human-approval.ts";
export { type HumanApprovalConfig, type HumanApprovalRule, humanApprovalSchema } from "./human-approval-schema.ts";
export {
  ApprovalManager,
  type ApprovalManagerOptions,
  type ApprovalNews,
  type Asked,
  type OutdatedApproval,
  type StartTimer,
  type WaitOptions,
} from "./manager.ts";
export { createMemoryApprovalStore, type MemoryApprovalStoreOptions } from "./memory-store.ts";
export { type ApprovalDemand, type ApprovalQuestion, MAX_ARGUMENTS_CHARS } from "./question.ts";
export { requireSignedApproval, type SignedApprovalOptions } from "./signed-port.ts";
export { ApprovalError, type ApprovalKey, type ApprovalRefusal, UnreadableApprovalError } from "./refusal.ts";
export { createRemoteApprovalStore, type RemoteApprovalStoreOptions } from "./remote-store.ts";
export {
  cancelApproval,
  type CancelInput,
  consumeApproval,
  decideApproval,
  type DecisionInput,
  expireApproval,
  type UseInput,
} from "./state.ts";
export {
  type ApprovalChange,
  type ApprovalIndex,
  type ApprovalListOptions,
  type ApprovalPage,
  type ApprovalRow,
  type ApprovalStore,
  assertListOptions,
  type ChangedOptions,
  type Creation,
  APPROVAL_ID_PATTERN,
  EXPECTED_CURSOR,
  type KeptApprovals,
  MAX_LISTED,
  type OnApprovalChange,
  readApproval,
  readApprovals,
  storeUnavailable,
  toApprovalIndex,
  toApprovalPage,
} from "./store.ts";
export {
  escapeDiscord,
  escapeSlack,
  escapeTelegram,
  type FormatOptions,
  toDiscordMessage,
  toSlackMessage,
  toTelegramMessage,
  toWebhookEvent,
} from "./notice-format.ts";
export { fillTemplate, findUnknownPlaces, type Notice, NOTICE_FIELDS, type NoticeField } from "./notice.ts";
export { NotificationError, type NotificationStatus, type NotificationTarget } from "./notice-attempt.ts";
export { Notifier, type NotifierOptions } from "./notifier.ts";
export type {
  DeliveryCounts,
  DeliveryResult,
  OutboxEntry,
  OutboxExchange,
  OutboxNotice,
  OutboxPeer,
} from "./outbox.ts";
export { type ApprovalTeller, askTeller } from "./teller.ts";
export { OutboxNotifier, type OutboxNotifierOptions } from "./outbox-notifier.ts";
export {
  createCommandTarget,
  createDiscordTarget,
  createSlackTarget,
  createTelegramTarget,
  createWebhookTarget,
  type JsonPost,
  type NotificationInput,
  type PostReply,
  type PostTargetOptions,
  type RunNotification,
  type SendPost,
  toTelegramUrl,
} from "./notification-target.ts";
