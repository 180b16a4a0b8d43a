export {
  type ActingPool,
  type ActKey,
  actingAs,
  type ConsoleLogin,
  isListedPerson,
  type RefusedAct,
  readConsoleLogin,
  recordRefusal,
} from './drivers/postgres/acting-as.ts'
export type { AuditRow } from './drivers/postgres/audit/read-audit.ts'
export type { DeclaredLoss } from './drivers/postgres/losses/read-losses.ts'
export type { StuckMessage } from './drivers/postgres/outbox/read-stuck.ts'
export type {
  ApprovalFilter,
  DeletionRequest,
  WaitingRequests,
} from './drivers/postgres/parking/read-approvals.ts'
export type { SavedFilter } from './drivers/postgres/parking/read-filters.ts'
export type { ParkedGroup } from './drivers/postgres/parking/read-groups.ts'
export type { KeyView } from './drivers/postgres/parking/read-key.ts'
export type { ParkedFilter, ParkedRow, ParkedState } from './drivers/postgres/parking/read-parked.ts'
export type { RedriveReport } from './drivers/postgres/parking/read-redrive.ts'
export type { RedriveFilter, RedriveSummary } from './drivers/postgres/parking/read-redrives.ts'
export type { SqlPool } from './drivers/postgres/pool.ts'
export { explain } from './evidence/explain.ts'
export type { Explanation, Story, TimelineEntry } from './evidence/explanation.ts'
export { readBrakes, releaseBrake } from './operations/brakes.ts'
export { reconcileEffect, retryEffect } from './operations/ledger-actions.ts'
export { acceptLoss, readLosses } from './operations/losses.ts'
export { classifyParked } from './operations/parking/classify-parked.ts'
export {
  approveRequest,
  declineRequest,
  deleteParked,
  findApproval,
  listApprovals,
  requestDeletion,
} from './operations/parking/delete-parked.ts'
export { type DiffLine, diffLines } from './operations/parking/diff-lines.ts'
export { type Fixed, fixPayload, noteStateFixed } from './operations/parking/fix-parked.ts'
export { groupParked } from './operations/parking/group-parked.ts'
export { listClosed } from './operations/parking/list-closed.ts'
export { listFixes, type RecordedFix } from './operations/parking/list-fixes.ts'
export { listParked, parkedStates } from './operations/parking/list-parked.ts'
export { listRedrives } from './operations/parking/list-redrives.ts'
export { parkedCsv } from './operations/parking/parked-csv.ts'
export { type ParkedPreview, previewParked } from './operations/parking/preview-parked.ts'
export { quarantineParked } from './operations/parking/quarantine-parked.ts'
export { defaultRamp, type Ramp, type RampResult, rampRedrive } from './operations/parking/ramp-redrive.ts'
export {
  findRedrive,
  runRedrive,
  showRedrive,
  startRedrive,
  stopRedrive,
} from './operations/parking/redrive-parked.ts'
export { listFilters, removeFilter, saveFilter } from './operations/parking/saved-filters.ts'
export {
  type PayloadMember,
  type SearchLimits,
  type SearchResult,
  searchPayload,
} from './operations/parking/search-payload.ts'
export { showKey } from './operations/parking/show-key.ts'
export { type ParkedDetails, readBody, showParked } from './operations/parking/show-parked.ts'
export { skipParked } from './operations/parking/skip-parked.ts'
export { listAudit, verifyAudit } from './operations/parking/verify-audit.ts'
export { acceptBroker, listBrokers } from './operations/server/brokers.ts'
export { listDestinations, retireDestination } from './operations/server/destinations.ts'
export { acceptServer, type RestoreView, readRestore } from './operations/server/incarnations.ts'
export { listReaders, renameConsumer, separateConsumer } from './operations/server/names.ts'
export { dropStuck, listStuck } from './operations/stuck-outbox.ts'
export { releaseHeld } from './operations/work/release-held.ts'
export { type Campaign, type CampaignState, listCampaigns, readCampaign } from './replay/campaign/campaign.ts'
export { type CampaignProgress, readProgress } from './replay/campaign/campaign-progress.ts'
export {
  approveCampaign,
  campaignFindings,
  campaignHistory,
  cancelCampaign,
  finishCampaign,
  pauseCampaign,
  verifyCampaign,
} from './replay/campaign/steer-campaign.ts'
export { contractPage } from './review/page/contract-page.ts'
export { renderPage } from './review/page/render-page.ts'
export { type ContractReport, checkContract } from './runtime/check-contract.ts'
export { openGuardedPool } from './runtime/guarded-pool.ts'
export { alertsOf } from './telemetry/alerts/alert-rules.ts'
export { findAlert } from './telemetry/alerts/find-alert.ts'
export { renderRunbook, runbooksFor } from './telemetry/alerts/runbook.ts'
export { type AttentionReason, attentionReason } from './telemetry/attention-reason.ts'
export {
  type BlockedKeyRow,
  type ConsumerDetail,
  type ConsumerTrouble,
  type FlowHour,
  type FlowSeries,
  type Halt,
  type RunRow,
  readConsumerDetail,
  readRates,
  readTrouble,
  type SourceLag,
} from './telemetry/consumer-detail.ts'
export { type HeldWork, listHeld } from './telemetry/held-work.ts'
export { type LedgerDetail, type LedgerEntry, listLedger, showLedger } from './telemetry/ledger.ts'
export { readStatus, type Status } from './telemetry/read-status.ts'
