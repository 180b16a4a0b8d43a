export { type CrashPoint, crashPoints, type Reach } from '../crash-points.ts'
export type { Position } from '../ports/source.ts'
export type { FaultClass } from '../verify/fault.ts'
export type { Invariant } from '../verify/invariants.ts'
export type { VerifyFailure, VerifyReport } from '../verify/report.ts'
export { assertVerified, verifyConsumer } from '../verify/verify-consumer.ts'
export type { VerifyOptions, VerifyProgress } from '../verify/verify-options.ts'
export { type DeliveryFactory, type DeliveryFeature, deliveryConformance } from './conformance/delivery.ts'
export { type HandlesFactory, type HandlesUnderTest, handleConformance } from './conformance/handles.ts'
export {
  type PublisherFactory,
  type PublisherFeature,
  type PublisherUnderTest,
  publisherConformance,
} from './conformance/publisher.ts'
export {
  type RangeReaderFactory,
  type RangeReaderFeature,
  type RangeReaderUnderTest,
  rangeReaderConformance,
} from './conformance/range-reader.ts'
export {
  type PublishedMessage,
  type SourceFactory,
  type SourceFeature,
  type SourceUnderTest,
  sourceConformance,
} from './conformance/source.ts'
export {
  type HeldRow,
  type IntentRow,
  type LossRow,
  type StoreFactory,
  type StoreFeature,
  type StoreUnderTest,
  storeConformance,
} from './conformance/store.ts'
export { replicationConformance, type SynchronousStandby } from './conformance/store-replication.ts'
export { type DeathOptions, dieAt } from './crash.ts'
export { logOptions, MemoryCheckpoints } from './memory-checkpoints.ts'
export { handlerOn, probeRollback, type RollbackProbe } from './probe-rollback.ts'
export { type FaultKind, faultKinds } from './simulator/faults.ts'
export {
  runSimulation,
  type SimulationFailure,
  type SimulationOptions,
  type SimulationReport,
  traceSchedule,
} from './simulator/run-simulation.ts'
export { type ScenarioName, simulationScenarios } from './simulator/scenarios.ts'
export type { ScheduleResult } from './simulator/schedule.ts'
export {
  createTestEnvironment,
  type LogLine,
  type TestEnvironment,
  type TestEnvironmentOptions,
} from './test-environment.ts'
export { type UntilOptions, until } from './until.ts'
