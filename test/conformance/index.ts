import { approvalBodyCases } from "./approval-body.cases.ts";
import { approvalCallerCases } from "./approval-caller.cases.ts";
import { approvalEventCases } from "./approval-event.cases.ts";
import { abortCases } from "./abort.cases.ts";
import { approvalHoldCases } from "./approval-hold.cases.ts";
import { approvalLinkCases } from "./approval-links.cases.ts";
import { approvalMemoryCases } from "./approval-memory.cases.ts";
import { approvalLinkPageCases } from "./approval-link-page.cases.ts";
import { approvalPageTextCases } from "./approval-page-text.cases.ts";
import { approvalPageCases } from "./approval-page.cases.ts";
import { approvalRuleCases } from "./approval-rules.cases.ts";
import { approvalTokenCases } from "./approval-token.cases.ts";
import { approvalUnreadableCases } from "./approval-unreadable.cases.ts";
import { approvalCases } from "./approvals.cases.ts";
import { auditCases, cacheCases, concurrencyCases } from "./audit.cases.ts";
import { attemptsCases } from "./attempts.cases.ts";
import { callLimitCases } from "./call-limit.cases.ts";
import type { Case } from "./case.ts";
import { chainCases } from "./chain.cases.ts";
import { changeCases } from "./changes.cases.ts";
import { clientApprovalCases } from "./client-approvals.cases.ts";
import { clientWaitCases, clientWatchCases } from "./client-approval-wait.cases.ts";
import { clientEventCases, faultCases, noAnswerCases } from "./client.cases.ts";
import { compositeCases } from "./composite.cases.ts";
import { configRemoteCases, rotationCases } from "./config-remote.cases.ts";
import { deadlineCases } from "./deadlines.cases.ts";
import { dialectCases } from "./dialect.cases.ts";
import { edgeSessionCases } from "./edge-sessions.cases.ts";
import { edgeYamlCases } from "./edge-yaml.cases.ts";
import { endpointLifeCases } from "./endpoint-life.cases.ts";
import { endpointCases } from "./endpoint.cases.ts";
import { errorsCases } from "./errors.cases.ts";
import { eventCases } from "./events.cases.ts";
import { authCases, originCases } from "./gateway-access.cases.ts";
import { bodyCases } from "./gateway-body.cases.ts";
import { limitCases, pageCases } from "./gateway-limit.cases.ts";
import { batchCases, messageCases } from "./gateway.cases.ts";
import { hostJwtCases } from "./host-jwt.cases.ts";
import { callerTimeoutCases, gatewayKeyCases, hostSignatureCases } from "./host-signature.cases.ts";
import { httpEventCases } from "./http-event.cases.ts";
import { httpHelloCases } from "./http-hello.cases.ts";
import { httpLimitCases } from "./http-limit.cases.ts";
import { httpReplyCases } from "./http-reply.cases.ts";
import { httpRetryCases } from "./http-retry.cases.ts";
import { httpUrlCases } from "./http-url.cases.ts";
import { httpCases } from "./http.cases.ts";
import { approvalStreamCases, approvalWaitCases } from "./gateway-approval-wait.cases.ts";
import { approvalRouteCases } from "./gateway-approvals.cases.ts";
import { queryCases } from "./gateway-query.cases.ts";
import { humanApprovalCases } from "./human-approval.cases.ts";
import { isolationCases } from "./isolation.cases.ts";
import { jcliBackgroundCases } from "./jcli-background.cases.ts";
import { jcliChainCases } from "./jcli-chain.cases.ts";
import { jcliEventCases } from "./jcli-events.cases.ts";
import { jcliFileCases } from "./jcli-file.cases.ts";
import { jcliSessionCases } from "./jcli-session.cases.ts";
import { jcliSourceCases } from "./jcli-sources.cases.ts";
import { jcliTextCases } from "./jcli-text.cases.ts";
import { jointDecisionCases } from "./joint-decision.cases.ts";
import { llmCases } from "./llm.cases.ts";
import { logCases } from "./log.cases.ts";
import { mountCases } from "./mount.cases.ts";
import { oddValueCases } from "./odd-values.cases.ts";
import { orderCases } from "./order.cases.ts";
import { pageTextCases } from "./page-text.cases.ts";
import { statusPageCases } from "./page.cases.ts";
import { paramsCases } from "./params.cases.ts";
import { payloadCases, wrapperCases } from "./payloads.cases.ts";
import { pointCases } from "./points.cases.ts";
import { matchCases, parallelCases, policyCases } from "./policy.cases.ts";
import { queueCases } from "./queues.cases.ts";
import { reloadCases, reloaderCases } from "./reload.cases.ts";
import { replyCases } from "./replies.cases.ts";
import { respondCases } from "./respond.cases.ts";
import { rpcCases } from "./rpc.cases.ts";
import { serveStdioCases } from "./serve-stdio.cases.ts";
import { sessionMemoryCases } from "./session-memory.cases.ts";
import { signInCases } from "./sign-in.cases.ts";
import { signingCases } from "./signing.cases.ts";
import { stdioProcessCases } from "./stdio-process.cases.ts";
import { stdioFramingCases, stdioReplyCases, stdioWriteCases } from "./stdio.cases.ts";
import { storedSessionOutageCases } from "./stored-sessions-outage.cases.ts";
import { storedSessionCases } from "./stored-sessions.cases.ts";
import { tornDownCases } from "./torn-down.cases.ts";
import { trustCases } from "./trust.cases.ts";
import { turnEndCases } from "./turn-end.cases.ts";
import { turnSuspendCases } from "./turn-suspend.cases.ts";
import { turnLifecycleCases } from "./turn-lifecycle.cases.ts";
import { turnCases } from "./turn.cases.ts";
import { visibleTextCases } from "./visible-text.cases.ts";
import { notifyCases } from "./notify.cases.ts";

/** Every conformance case, in the order in which it runs. */
export const cases: readonly Case[] = [
  ...errorsCases,
  ...orderCases,
  ...logCases,
  ...mountCases,
  ...reloadCases,
  ...reloaderCases,
  ...pointCases,
  ...chainCases,
  ...attemptsCases,
  ...respondCases,
  ...replyCases,
  ...approvalCases,
  ...approvalLinkCases,
  ...approvalLinkPageCases,
  ...approvalPageCases,
  ...approvalPageTextCases,
  ...notifyCases,
  ...approvalMemoryCases,
  ...humanApprovalCases,
  ...approvalBodyCases,
  ...approvalCallerCases,
  ...approvalEventCases,
  ...approvalHoldCases,
  ...approvalRouteCases,
  ...queryCases,
  ...approvalWaitCases,
  ...approvalStreamCases,
  ...approvalRuleCases,
  ...approvalTokenCases,
  ...approvalUnreadableCases,
  ...payloadCases,
  ...wrapperCases,
  ...changeCases,
  ...isolationCases,
  ...oddValueCases,
  ...deadlineCases,
  ...callLimitCases,
  ...abortCases,
  ...eventCases,
  ...queueCases,
  ...rpcCases,
  ...paramsCases,
  ...turnCases,
  ...policyCases,
  ...matchCases,
  ...parallelCases,
  ...auditCases,
  ...cacheCases,
  ...concurrencyCases,
  ...turnLifecycleCases,
  ...turnSuspendCases,
  ...turnEndCases,
  ...stdioReplyCases,
  ...stdioFramingCases,
  ...stdioWriteCases,
  ...stdioProcessCases,
  ...serveStdioCases,
  ...httpCases,
  ...httpReplyCases,
  ...httpRetryCases,
  ...httpHelloCases,
  ...httpLimitCases,
  ...httpEventCases,
  ...httpUrlCases,
  ...signingCases,
  ...endpointCases,
  ...endpointLifeCases,
  ...tornDownCases,
  ...trustCases,
  ...dialectCases,
  ...compositeCases,
  ...jointDecisionCases,
  ...edgeYamlCases,
  ...jcliTextCases,
  ...jcliEventCases,
  ...jcliChainCases,
  ...jcliSessionCases,
  ...sessionMemoryCases,
  ...storedSessionCases,
  ...edgeSessionCases,
  ...storedSessionOutageCases,
  ...jcliBackgroundCases,
  ...jcliFileCases,
  ...jcliSourceCases,
  ...llmCases,
  ...messageCases,
  ...batchCases,
  ...bodyCases,
  ...authCases,
  ...originCases,
  ...configRemoteCases,
  ...rotationCases,
  ...hostJwtCases,
  ...hostSignatureCases,
  ...gatewayKeyCases,
  ...callerTimeoutCases,
  ...limitCases,
  ...pageCases,
  ...statusPageCases,
  ...pageTextCases,
  ...signInCases,
  ...visibleTextCases,
  ...noAnswerCases,
  ...faultCases,
  ...clientEventCases,
  ...clientApprovalCases,
  ...clientWaitCases,
  ...clientWatchCases,
];
