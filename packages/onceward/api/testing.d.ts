/** A named window between two durable steps. */
export type CrashPoint = keyof typeof crashPoints;

/** At which passage of a point the process dies, and what it leaves as proof. */
export interface DeathOptions {
    readonly hit?: number;
    readonly witness?: string | number;
}

/** What the delivery suite needs of a driver. */
export interface DeliveryFactory<Tx> {
    readonly source: SourceFactory;
    readonly store: StoreFactory<Tx>;
}

/** A feature that a source may lack; its cases are then skipped. */
export type DeliveryFeature = SourceFeature | StoreFeature;

/** A class of faults that `verifyConsumer` stages. */
export type FaultClass = keyof typeof faultClasses;

/** A kind of fault of the simulator. */
export type FaultKind = (typeof faultKinds)[number];

/** What the suite of handler transactions needs of a store. */
export interface HandlesFactory<Tx> {
    create(): Promise<HandlesUnderTest<Tx>>;
    readonly unavailable?: string | undefined;
}

/** A store on a pool of one connection, with slow and failing statements. */
export interface HandlesUnderTest<Tx> {
    readonly store: Store<Tx>;
    apply(tx: Tx, key: string): Promise<void>;
    applied(): Promise<readonly string[]>;
    fail(tx: Tx): Promise<void>;
    pause(tx: Tx, ms: number): Promise<void>;
    rows?(tx: Tx): AsyncIterator<unknown>;
    sessions(): Promise<{
        readonly total: number;
        readonly open: number;
    }>;
    close(): Promise<void>;
}

/** A stored message, as tests read it. */
export interface HeldRow {
    readonly id: string | null;
    readonly state: HeldState;
    readonly seen: number;
    readonly attempts: number;
    readonly code: string;
    readonly reason: string;
    readonly body: Buffer;
}

/** A requested effect, as tests read it. */
export interface IntentRow {
    readonly target: string;
    readonly key: string;
    readonly body: Buffer;
}

/** A statement that returns the rows that break the rule, or a function that does. */
export type Invariant = string | ((query: InvariantQuery) => Promise<readonly SnapshotRow[]>);

/** One line that was logged in a test. */
export interface LogLine {
    readonly level: 'debug' | 'info' | 'warn' | 'error';
    readonly message: string;
    readonly fields: LogFields;
}

/** A declared loss, as tests read it. */
export interface LossRow {
    readonly partition: string;
    readonly from: Position;
    readonly to: Position | null;
    readonly records: number | null;
}

/**
 * Ownership and positions in this process's memory, for tests of a log source without a store. Pass it to
 * several subscriptions to make them rivals.
 */
export declare class MemoryCheckpoints implements Checkpoints {
    #private;
    readonly losses: Loss[];
    readonly withdrawn: {
        readonly partition: string;
        readonly from: Position;
        readonly reason: string;
    }[];
    take(partitions: readonly string[]): Promise<readonly Ownership[]>;
    begin(partition: string, epoch: number, position: Position): Promise<void>;
    withdrawLoss(partition: string, epoch: number, from: Position, reason: string): Promise<void>;
    advance(progress: readonly Progress[]): void;
    declareLoss(loss: Loss): Promise<void>;
    acceptLoss(partition: string): void;
    stored(partition: string): Position | null;
}

/** A position of a log, as tests read it. */
export interface Position {
    readonly incarnation: string;
    readonly next: string;
}

/** A message that a publisher sent, as the broker has it. */
export interface PublishedMessage {
    readonly body: Buffer;
    readonly headers?: Readonly<Record<string, unknown>>;
    readonly properties?: DeliveryProperties;
    readonly key?: string | null;
    readonly partition?: number;
}

/** What the publisher suite needs of a driver. */
export interface PublisherFactory {
    create(): Promise<PublisherUnderTest>;
    readonly without?: Partial<Record<PublisherFeature, string>>;
    readonly unavailable?: string | undefined;
}

/** What a publisher may lack; each lack needs a reason in `without`. */
export type PublisherFeature = 
'message key'
 | 'typed headers' | 'size limit' | 'lost connection';

/** A publisher, and a destination whose messages can be read back. */
export interface PublisherUnderTest {
    readonly publisher: Publisher;
    readonly destination: SourceUnderTest;
    readonly place: Destination;
    readonly unknown: Destination;
    readonly tooLargeBytes?: number;
    disconnect?(): Promise<void>;
    close(): Promise<void>;
}

/** What the suite of range readers needs of a driver. */
export interface RangeReaderFactory {
    create(): Promise<RangeReaderUnderTest>;
    readonly without?: Partial<Record<RangeReaderFeature, string>>;
    readonly unavailable?: string | undefined;
}

/** What a range reader may lack; each lack needs a reason in `without`. */
export type RangeReaderFeature = 'edges'
 | 'empty log' | 'live source' | 'any bytes' | 'headers' | 'position on the broker' | 'expiring records' | 'recreation';

/** A log with a reader of its history. A `SourceUnderTest` of a log has most of it already. */
export interface RangeReaderUnderTest extends Pick<SourceUnderTest, 'committed' | 'loseRecords' | 'recreate' | 'close'> {
    openReader(): RangeReader;
    readonly source?: Source;
    readonly partitions: readonly string[];
    publish(messages: readonly PublishedMessage[]): Promise<void>;
    edgeOf?(partition: string): string;
}

/** Called at each point. Inert in production. */
export type Reach = (point: CrashPoint) => void;

/** A handler, its store, and how to see what it changed. */
export interface RollbackProbe<Tx> {
    readonly store: Store<Tx>;
    readonly run: (tx: Tx) => unknown;
    readonly observe: () => Promise<unknown>;
}

/** A scenario of the simulator. */
export type ScenarioName = keyof typeof simulationScenarios;

/** The end of one simulated schedule. */
export interface ScheduleResult {
    readonly steps: number;
    readonly hash: string;
    readonly fired: ReadonlyMap<FaultKind, number>;
    readonly kills: ReadonlyMap<CrashPoint, number>;
    readonly broken: Broken | null;
    readonly trace: readonly string[];
}

/** A schedule that broke an invariant, with all that repeats it. */
export interface SimulationFailure {
    readonly seed: number;
    readonly faults: readonly FaultKind[];
    readonly step: number;
    readonly invariant: InvariantName;
    readonly what: string;
    readonly trace: readonly string[];
}

/** How many schedules of which scenarios are simulated. */
export interface SimulationOptions {
    readonly schedules: number;
    readonly seed?: number;
    readonly scenario: ScenarioName;
    readonly faults?: readonly FaultKind[];
    readonly around?: Around;
}

/** What a simulation ran and found. */
export interface SimulationReport {
    readonly scenario: ScenarioName;
    readonly schedules: number;
    readonly steps: number;
    readonly faultsFired: Readonly<Partial<Record<FaultKind, number>>>;
    readonly killsAfter: Readonly<Partial<Record<CrashPoint, number>>>;
    readonly failure?: SimulationFailure;
}

/** What the source suite needs of a driver. */
export interface SourceFactory {
    create(options: {
        readonly keyOrder: boolean;
    }): Promise<SourceUnderTest>;
    readonly without?: Partial<Record<SourceFeature, string>>;
    readonly unavailable?: string | undefined;
}

/** What a source may lack; each lack needs a reason in `without`. */
export type SourceFeature = 'lost connection' | 'byte bound' | 'message key' | 'key order' | 'key order across subscriptions' | 'delivery count'
 | 'any bytes' | 'headers'
 | 'header names' | 'nested headers'
 | 'single settling'
 | 'positions' | 'several partitions' | 'shared partitions' | 'position on the broker' | 'expiring records' | 'hidden records' | 'recreation' | 'forgotten positions';

/** One fresh queue or log on a broker, seen from outside the source. */
export interface SourceUnderTest {
    readonly source: Source;
    another(): Source;
    publish(messages: readonly PublishedMessage[]): Promise<void>;
    remaining?(): Promise<number>;
    disconnect?(): Promise<void>;
    readonly partitions?: readonly string[];
    countFrom?(partition: string, cursor: string | null): Promise<number>;
    committed?(partition: string, consumer: LogOptions['consumer']): Promise<string | null>;
    loseRecords?(partition: string, keep: number): Promise<void>;
    hideRecords?(partition: string): Promise<() => Promise<void>>;
    recreate?(): Promise<void>;
    forgetPositions?(): Promise<void>;
    close(): Promise<void>;
}

/** What the store suite needs of a driver. */
export interface StoreFactory<Tx> {
    create(): Promise<StoreUnderTest<Tx>>;
    readonly without?: Partial<Record<StoreFeature, string>>;
    readonly unavailable?: string | undefined;
}

/** What a store may lack; each lack needs a reason in `without`. */
export type StoreFeature = 'failing statements' | 'lock waits' | 'concurrent transactions' | 'accepted losses' | 'held work'
 | 'business keys' | 'key order' | 'outgoing' | 'checkpoints' | 'suspects';

/** A store with a portable effect, and readers that see only committed rows. */
export interface StoreUnderTest<Tx> {
    readonly store: Store<Tx>;
    readonly second: Store<Tx>;
    apply(tx: Tx, key: string): Promise<void>;
    applied(): Promise<readonly string[]>;
    marker(consumer: string, id: string): Promise<MarkerStatus | null>;
    businessKey?(consumer: string, key: string): Promise<string | null>;
    held(consumer: string): Promise<readonly HeldRow[]>;
    attempts(consumer: string, id: string): Promise<number>;
    intents?(consumer: string): Promise<readonly IntentRow[]>;
    outbox?(queue: string): Promise<readonly string[]>;
    position?(consumer: string, partition: string, generation?: number): Promise<Position | null>;
    losses?(consumer: string): Promise<readonly LossRow[]>;
    acceptLoss?(consumer: string, partition: string): Promise<void>;
    fail?(tx: Tx): Promise<void>;
    waiting?(): Promise<number>;
    close(): Promise<void>;
}

/** The synchronous standby of the store's server, which a case stops and starts. */
export interface SynchronousStandby {
    stop(): Promise<void>;
    resume(): Promise<void>;
    endWaits(how: 'cancel' | 'terminate'): Promise<number>;
}

/** An environment in which time passes only when a test moves it. */
export interface TestEnvironment extends Environment {
    advance(ms: number): Promise<void>;
    turn(): Promise<void>;
    readonly due: readonly number[];
    readonly lines: readonly LogLine[];
    readonly counted: ReadonlyMap<string, number>;
    readonly reached: readonly CrashPoint[];
}

/** Parts of the environment that a test replaces. */
export interface TestEnvironmentOptions {
    readonly random?: number | (() => number);
    readonly reach?: Reach;
}

/** How long and how often `until` looks. */
export interface UntilOptions {
    readonly deadlineMs?: number;
}

/** Something that the consumer did not survive. */
export interface VerifyFailure extends Diagnosis {
    readonly class: FaultClass | 'leak' | 'identity' | 'key' | 'clean run' | 'invariant' | 'not staged';
    readonly fault: string | null;
    readonly lines: readonly number[];
    readonly seed: number;
    readonly differences: readonly Difference[];
    readonly repeat: string;
    readonly alike: number;
}

/** What `verifyConsumer` runs, where, and for how long. */
export interface VerifyOptions {
    readonly file: string;
    readonly policy?: string | undefined;
    readonly databaseUrl?: string | undefined;
    readonly schema?: string | undefined;
    readonly migrate?: string | undefined;
    readonly prepare?: ((pool: Pick<OwnPool, 'query'>) => Promise<void>) | undefined;
    readonly samples?: string | readonly unknown[] | undefined;
    readonly capturedFrom?: string | undefined;
    readonly invariants?: Readonly<Record<string, Invariant>> | undefined;
    readonly invariantsFile?: string | undefined;
    readonly budgetMs?: number | undefined;
    readonly seed?: number | undefined;
    readonly only?: readonly (FaultClass | 'leak')[] | undefined;
    readonly skip?: readonly FaultClass[] | undefined;
    readonly fault?: string | undefined;
    readonly lines?: readonly number[] | undefined;
    readonly shrink?: boolean | undefined;
    readonly jobs?: number | undefined;
    readonly allow?: readonly string[] | undefined;
    readonly signal?: AbortSignal | undefined;
    readonly onProgress?: ((progress: VerifyProgress) => void) | undefined;
}

/** What `verifyConsumer` does at present. */
export interface VerifyProgress {
    readonly done: number;
    readonly of: number;
    readonly failed: number;
    readonly secondsLeft: number;
}

/** What `verifyConsumer` ran and found. */
export interface VerifyReport {
    readonly ok: boolean;
    readonly consumer: string;
    readonly survived: number;
    readonly of: number;
    readonly classes: readonly ClassResult[];
    readonly failures: readonly VerifyFailure[];
    readonly warnings: readonly Diagnosis[];
    readonly volatile: readonly VolatileColumn[];
    readonly notes: readonly string[];
    readonly messages: number;
    readonly seed: number;
    readonly seconds: number;
}

/** For tests: throws one error that lists what the consumer did not survive, and what was not staged. */
export declare function assertVerified(report: VerifyReport): void;

/**
 * Every window between two durable steps, by name. Production code calls `reach(point)`, which does nothing
 * unless the process was started with an armed point (`onceward/testing`). The crash suite kills a real
 * process at each point; the tidy test fails if a point has no scenario.
 */
export declare const crashPoints: {
    readonly 'batch.received': 'Nothing is durable yet: the broker redelivers the batch.';
    readonly 'batch.claimed': 'Markers are inserted but not committed: the rollback removes them.';
    readonly 'batch.applied': "The handler's writes are in the open transaction: the rollback removes them with the markers.";
    readonly 'batch.concluded': 'Everything is written, COMMIT is not sent: the rollback removes all of it.';
    readonly 'batch.fenced': "A log's partitions are proven ours and their positions are moved, COMMIT is not sent: the rollback removes positions and effects.";
    readonly 'batch.committed': 'Effects are durable, the broker is not acknowledged: the redelivery is recognised as a duplicate.';
    readonly 'batch.settled': 'The broker was acknowledged: at worst the acknowledgement is still in a buffer, and the redelivery is a duplicate.';
    readonly 'brake.engaging': 'Failures that pause an event type are decided, the pause is not recorded: the next process pauses the type by its own evidence, within the same bound.';
    readonly 'brake.ending': 'A message of a paused type is applied, its pause is still recorded: the next process tries messages at once and ends it.';
    readonly 'checkpoint.taken': "A partition's epoch is raised, nothing is read: the next owner raises it again.";
    readonly 'checkpoint.confirmed': 'The broker has the start position of a partition, the store does not: the next start reads it from the broker again.';
    readonly 'drain.begun': 'The consumer drains and receives nothing new: unfinished deliveries return to the broker unsettled.';
    readonly 'relay.leased': 'Buckets of the outbox are leased to a dead relay: another relay takes over when the lease expires.';
    readonly 'relay.read': 'The relay has read rows and done nothing else: the next relay of their bucket reads them again.';
    readonly 'relay.published': 'The broker confirmed, the row still exists: it is published again under the same id.';
    readonly 'relay.deleted': 'The row is deleted and its publication confirmed: nothing remains to do.';
    readonly 'relay.moved': 'One transaction has moved the row from the outbox to a queue of the same database.';
    readonly 'dispatch.leased': 'A lease is durable, no call is made: another dispatcher takes over when it expires.';
    readonly 'dispatch.queried': 'The target reported whether an earlier call took effect, nothing is recorded: the next dispatcher queries again before it calls.';
    readonly 'dispatch.called': 'The target answered, nothing is recorded: the next call uses the same key and bytes.';
    readonly 'dispatch.recorded': 'The answer is recorded: nothing remains to do.';
    readonly 'postgres.leased': 'Rows are leased to a dead subscription: they are delivered again when the lease expires.';
    readonly 'work.leased': 'A lease is durable, nothing is tried: another worker takes over when it expires.';
    readonly 'work.handoff': 'One commit stored messages and leased them to the worker of the same process, nothing is tried: another worker takes over when the lease expires.';
    readonly 'work.finished': "A worker's effect is written, its row removed and its marker moved, COMMIT is not sent: the rollback undoes all of it, and the lease expires.";
    readonly 'work.committed': 'Effect, row and marker are durable together: nothing remains to do.';
    readonly 'replay.taken': 'A campaign is leased to this process, nothing is read: another process may run it when the lease expires.';
    readonly 'replay.journaled': 'A batch of a campaign is written with its counts and its position, COMMIT is not sent: the rollback removes all of it, and the batch is read again.';
    readonly 'replay.undone': 'A forensic batch is rolled back and its findings are not written: the same batch is examined again.';
    readonly 'replay.ended': 'Everything is read, the campaign is still recorded as running: the next run finds nothing left and ends it.';
    readonly 'swap.moved': 'Tables and markers are exchanged, COMMIT is not sent: everything is where it was.';
    readonly 'swap.done': 'The rebuilt tables are live and the campaign records it: nothing remains to do.';
    readonly 'swap.undone': 'The old tables are back, COMMIT is not sent: the rebuilt tables are still live.';
    readonly 'suspect.counted': 'An attempt of a suspect is durable, its handler has not started: the next process counts a crash that the message did not cause.';
    readonly 'suspect.grouped': 'A group of suspects is recorded, none of its handlers has started: the next process tries them in groups of half the size.';
    readonly 'suspect.reading': 'Suspects are recorded under the digests of their bytes, none is read: the next process tries smaller groups, or counts a crash that the message did not cause.';
    readonly 'suspect.read': 'Suspects are read, the record of the last ones still exists: the next process reads them in smaller groups, or counts a crash that none of them caused.';
    readonly 'parking.selected': 'A redrive of parked messages is recorded, nothing is moved: the same request continues it.';
    readonly 'parking.moving': 'A stage of a redrive is moved, COMMIT is not sent: its messages are parked as before.';
    readonly 'parking.moved': 'A stage is released to the workers: the next stage starts where it ended.';
    readonly 'parking.skipped': 'Messages are given up, COMMIT is not sent: they are parked as before, and the audit has no entry.';
    readonly 'parking.fixed': 'A payload is replaced, COMMIT is not sent: the original is unchanged.';
    readonly 'parking.deleted': 'An approved deletion is written, COMMIT is not sent: the bytes and the approval still exist.';
    readonly 'retention.archived': 'Rows are in the archive on disk and still in their table: the next pass archives them once more, then removes them.';
    readonly 'retention.removed': 'Rows are removed and the horizon is moved, COMMIT is not sent: both are as before.';
    readonly 'retention.committed': 'Rows are removed and the horizon is moved: the next pass continues with the rest.';
    readonly 'receipts.archived': 'Receipts of a day are in the archive on disk and still in their table: the next pass archives them once more, then removes them.';
    readonly 'receipts.removed': 'Receipts of a day are removed, COMMIT is not sent: they are as before.';
    readonly 'receipts.gone': 'Receipts of a day are removed: the next pass continues with the next day.';
    readonly 'days.made': 'Tables for coming days are created, COMMIT is not sent: the next pass creates them.';
    readonly 'days.sealed': 'Writes to an old day are recorded, the day still exists: the next pass checks it and drops it.';
    readonly 'days.dropped': 'A day is dropped and the horizon is moved, COMMIT is not sent: both are as before.';
    readonly 'days.gone': 'A day is dropped and the horizon is moved: the next pass continues with the next day.';
    readonly 'days.built': "A consumer's markers are copied to tables that are not attached, COMMIT is not sent: the markers are where they were.";
    readonly 'days.attached': 'The tables are attached, COMMIT is not sent: everything is as before.';
    readonly 'days.standing': "A consumer's markers are in daily tables: nothing remains to do.";
    readonly 'transform.produced': 'Outputs and dead letters of a Kafka transaction are written, its offsets are not: the broker aborts it, and the records are transformed again.';
    readonly 'transform.positioned': 'Outputs and offsets are written, the end of the transaction is not sent: the broker aborts it, and the records are transformed again.';
    readonly 'transform.committed': 'The broker has committed outputs and offsets together: the next process reads from there.';
    readonly 'transform.repairing': 'A partition whose end marker was skipped is added to a transaction again, its end is not sent: the broker aborts it, with the committed records in this partition.';
    readonly 'migrate.applied': 'A migration is committed, the next one has not started: the next start continues from there.';
};

/** An environment whose clock and timers a test moves. */
export declare function createTestEnvironment(options?: TestEnvironmentOptions): TestEnvironment;

/** The promise itself, through the real engine, for one pair of source and store. */
export declare function deliveryConformance<Tx>(name: string, { source, store }: DeliveryFactory<Tx>): void;

/** A `reach` that ends its own process with SIGKILL at the given passage of one crash point. */
export declare function dieAt(point: CrashPoint, { hit, witness }?: DeathOptions): Reach;

/** What may go wrong. `lock wait` only follows from others. */
export declare const faultKinds: readonly [
'crash', 
'freeze', 
'suspend', 
'drain', 
'failed start', 
'store outage', 'connection cut', 
'half-open link', 'commit reply lost', 
'commit late', 'contention', 'lock wait', 
'slow', 
'disconnect', 
'settle lost', 
'reorder', 
'rebalance', 'partition lost', 'offset commit lost'];

/** Runs, with node:test, the cases of handlers that fail or are ended while their statements wait or run. */
export declare function handleConformance<Tx>(name: string, factory: HandlesFactory<Tx>): void;

/** A consumer's handler on one message, ready to be probed. Requested effects are dropped. */
export declare function handlerOn<M, Tx>(consumer: Consumer<M, Tx>, message: Partial<Delivery> & Pick<Delivery, 'body'>, mode?: Mode): (tx: Tx) => Promise<void>;

/** What a log source needs to be opened outside an engine. */
export declare function logOptions(given?: Partial<LogOptions>): LogOptions;

/**
 * Runs a handler inside a transaction that is always rolled back, and compares the environment before and
 * after. A difference means that the handler wrote past `tx`. Such a write survives the rollback, and a retry
 * repeats it.
 */
export declare function probeRollback<Tx>({ store, run, observe }: RollbackProbe<Tx>): Promise<void>;

/** Runs every case a publisher must pass, with node:test. */
export declare function publisherConformance(name: string, factory: PublisherFactory): void;

/** Runs every case a range reader must pass, with node:test. */
export declare function rangeReaderConformance(name: string, factory: RangeReaderFactory): void;

/** Runs the cases of a store on a server with a synchronous standby, with node:test. */
export declare function replicationConformance<Tx>(name: string, factory: Pick<StoreFactory<Tx>, 'create' | 'unavailable'>, standby: SynchronousStandby): void;

/**
 * Runs the shipped engine through schedules, each determined by its number, until one violates an invariant.
 */
export declare function runSimulation(options: SimulationOptions): Promise<SimulationReport>;

/** The scenarios of the simulator, by name. */
export declare const simulationScenarios: {
    readonly queue: Scenario;
    readonly 'queue batch': {
        readonly businessKeys: boolean;
        readonly copies: readonly import("./workload.ts").CopyKind[];
        readonly plans: readonly JobPlan[];
        readonly source: 'queue' | 'log';
        readonly order: 'none' | 'key' | 'partition';
        readonly dedup: 'marker' | 'checkpoint';
        readonly settle: 'after effect' | 'with effect';
        readonly schema: 'none' | 'slow';
        readonly handler: 'batch';
    };
    readonly 'queue business keys': {
        readonly copies: readonly import("./workload.ts").CopyKind[];
        readonly plans: readonly JobPlan[];
        readonly source: 'queue' | 'log';
        readonly order: 'none' | 'key' | 'partition';
        readonly handler: 'each' | 'batch';
        readonly dedup: 'marker' | 'checkpoint';
        readonly settle: 'after effect' | 'with effect';
        readonly schema: 'none' | 'slow';
        readonly businessKeys: true;
    };
    readonly 'queue key order': {
        readonly businessKeys: boolean;
        readonly copies: readonly import("./workload.ts").CopyKind[];
        readonly plans: readonly JobPlan[];
        readonly source: 'queue' | 'log';
        readonly handler: 'each' | 'batch';
        readonly dedup: 'marker' | 'checkpoint';
        readonly settle: 'after effect' | 'with effect';
        readonly schema: 'none' | 'slow';
        readonly order: 'key';
    };
    readonly 'queue key order batch': {
        readonly businessKeys: boolean;
        readonly copies: readonly import("./workload.ts").CopyKind[];
        readonly plans: readonly JobPlan[];
        readonly source: 'queue' | 'log';
        readonly dedup: 'marker' | 'checkpoint';
        readonly settle: 'after effect' | 'with effect';
        readonly schema: 'none' | 'slow';
        readonly order: 'key';
        readonly handler: 'batch';
    };
    readonly 'queue key order business keys': {
        readonly copies: readonly import("./workload.ts").CopyKind[];
        readonly plans: readonly JobPlan[];
        readonly source: 'queue' | 'log';
        readonly handler: 'each' | 'batch';
        readonly dedup: 'marker' | 'checkpoint';
        readonly settle: 'after effect' | 'with effect';
        readonly schema: 'none' | 'slow';
        readonly order: 'key';
        readonly businessKeys: true;
    };
    readonly 'queue slow schema': {
        readonly businessKeys: boolean;
        readonly copies: readonly import("./workload.ts").CopyKind[];
        readonly plans: readonly JobPlan[];
        readonly source: 'queue' | 'log';
        readonly order: 'none' | 'key' | 'partition';
        readonly handler: 'each' | 'batch';
        readonly dedup: 'marker' | 'checkpoint';
        readonly settle: 'after effect' | 'with effect';
        readonly schema: 'slow';
    };
    readonly 'queue key order slow schema': {
        readonly businessKeys: boolean;
        readonly copies: readonly import("./workload.ts").CopyKind[];
        readonly plans: readonly JobPlan[];
        readonly source: 'queue' | 'log';
        readonly handler: 'each' | 'batch';
        readonly dedup: 'marker' | 'checkpoint';
        readonly settle: 'after effect' | 'with effect';
        readonly order: 'key';
        readonly schema: 'slow';
    };
    readonly log: Scenario;
    readonly 'log batch': {
        readonly businessKeys: boolean;
        readonly copies: readonly import("./workload.ts").CopyKind[];
        readonly plans: readonly JobPlan[];
        readonly source: 'queue' | 'log';
        readonly order: 'none' | 'key' | 'partition';
        readonly dedup: 'marker' | 'checkpoint';
        readonly settle: 'after effect' | 'with effect';
        readonly schema: 'none' | 'slow';
        readonly handler: 'batch';
    };
    readonly 'log key order': {
        readonly businessKeys: boolean;
        readonly copies: readonly import("./workload.ts").CopyKind[];
        readonly plans: readonly JobPlan[];
        readonly source: 'queue' | 'log';
        readonly handler: 'each' | 'batch';
        readonly dedup: 'marker' | 'checkpoint';
        readonly settle: 'after effect' | 'with effect';
        readonly schema: 'none' | 'slow';
        readonly order: 'key';
    };
    readonly 'log partition order': {
        readonly businessKeys: boolean;
        readonly copies: readonly import("./workload.ts").CopyKind[];
        readonly plans: readonly JobPlan[];
        readonly source: 'queue' | 'log';
        readonly handler: 'each' | 'batch';
        readonly dedup: 'marker' | 'checkpoint';
        readonly settle: 'after effect' | 'with effect';
        readonly schema: 'none' | 'slow';
        readonly order: 'partition';
    };
    readonly 'log partition order batch': {
        readonly businessKeys: boolean;
        readonly copies: readonly import("./workload.ts").CopyKind[];
        readonly plans: readonly JobPlan[];
        readonly source: 'queue' | 'log';
        readonly dedup: 'marker' | 'checkpoint';
        readonly settle: 'after effect' | 'with effect';
        readonly schema: 'none' | 'slow';
        readonly order: 'partition';
        readonly handler: 'batch';
    };
    readonly 'log partition order business keys': {
        readonly copies: readonly import("./workload.ts").CopyKind[];
        readonly plans: readonly JobPlan[];
        readonly source: 'queue' | 'log';
        readonly handler: 'each' | 'batch';
        readonly dedup: 'marker' | 'checkpoint';
        readonly settle: 'after effect' | 'with effect';
        readonly schema: 'none' | 'slow';
        readonly order: 'partition';
        readonly businessKeys: true;
    };
    readonly 'log partition order slow schema': {
        readonly businessKeys: boolean;
        readonly copies: readonly import("./workload.ts").CopyKind[];
        readonly plans: readonly JobPlan[];
        readonly source: 'queue' | 'log';
        readonly handler: 'each' | 'batch';
        readonly dedup: 'marker' | 'checkpoint';
        readonly settle: 'after effect' | 'with effect';
        readonly order: 'partition';
        readonly schema: 'slow';
    };
    readonly 'log store position': {
        readonly businessKeys: boolean;
        readonly copies: readonly import("./workload.ts").CopyKind[];
        readonly plans: readonly JobPlan[];
        readonly source: 'queue' | 'log';
        readonly order: 'none' | 'key' | 'partition';
        readonly handler: 'each' | 'batch';
        readonly dedup: 'marker' | 'checkpoint';
        readonly schema: 'none' | 'slow';
        readonly settle: 'with effect';
    };
    readonly 'log store position key order': {
        readonly businessKeys: boolean;
        readonly copies: readonly import("./workload.ts").CopyKind[];
        readonly plans: readonly JobPlan[];
        readonly source: 'queue' | 'log';
        readonly handler: 'each' | 'batch';
        readonly dedup: 'marker' | 'checkpoint';
        readonly schema: 'none' | 'slow';
        readonly settle: 'with effect';
        readonly order: 'key';
    };
    readonly 'log checkpoint': Scenario;
    readonly 'log checkpoint batch': {
        readonly businessKeys: boolean;
        readonly copies: readonly import("./workload.ts").CopyKind[];
        readonly plans: readonly JobPlan[];
        readonly source: 'queue' | 'log';
        readonly order: 'none' | 'key' | 'partition';
        readonly dedup: 'marker' | 'checkpoint';
        readonly settle: 'after effect' | 'with effect';
        readonly schema: 'none' | 'slow';
        readonly handler: 'batch';
    };
};

/** Runs every case a source must pass, with node:test. */
export declare function sourceConformance(name: string, factory: SourceFactory): void;

/** Runs every case a store must pass, with node:test. */
export declare function storeConformance<Tx>(name: string, factory: StoreFactory<Tx>): void;

/** One schedule, with its trace. Two runs with the same options have the same hash. */
export declare function traceSchedule(options: Omit<SimulationOptions, 'schedules'>): Promise<ScheduleResult>;

/** Polls until the condition holds. Past the deadline it fails and names the condition. */
export declare function until(what: string, condition: () => boolean | Promise<boolean>, { deadlineMs }?: UntilOptions): Promise<void>;

/**
 * Runs a consumer under crashes, races and replays, and compares its tables and intents after each run with a
 * clean serial run. Everything happens in scratch databases and child processes.
 */
export declare function verifyConsumer(options: VerifyOptions): Promise<VerifyReport>;
