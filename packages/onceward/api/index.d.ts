/** Differences that an operator has accepted, by table name, with a reason. */
export type Accepted = Readonly<Record<string, string>>;

/**
 * Called for each message that a declared effect applied, in the same transaction. If it throws or returns a
 * verdict, the effect on its message is undone too, and the message follows the failure policy or the
 * verdict.
 */
export type After<M, R> = (context: AfterContext<M, R>) => ReturnType<Handler<M, SqlTransaction>>;

/** What `after` of a declared effect receives: the context of a handler, and what the effect did. */
export interface AfterContext<M, R> extends HandlerContext<M, SqlTransaction> {
    readonly result: R;
}

/** The table that a transition keeps: one row for each entity with its state and version. */
export interface AggregateTable {
    readonly table: string;
    readonly key: string;
    readonly state: string;
    readonly version?: string;
    readonly versions?: 'contiguous' | 'increasing';
}

/** What `audit(...)` records for each message. */
export interface AuditDeclaration<M> {
    readonly table: string;
    readonly eventId: FieldOf<M, unknown>;
    readonly columns: Readonly<Record<string, FieldOf<M, unknown>>>;
    readonly after?: After<M, AuditResult>;
}

/** A row that was written. */
export interface AuditResult {
    readonly eventId: string;
}

/** What a batch handler receives. */
export interface BatchContext<M, Tx, External extends string = string, Publish extends string = string> {
    readonly batch: readonly BatchItem<M, External, Publish>[];
    readonly tx: Tx;
    readonly mode: Mode;
    readonly signal: AbortSignal;
    readonly log: Log;
}

/** One message of a batch. */
export interface BatchItem<M, External extends string = string, Publish extends string = string> {
    readonly message: M;
    readonly envelope: Envelope;
    readonly effects: Effects<External, Publish>;
    readonly waited: 'released' | 'too late' | null;
    readonly run: number;
}

/**
 * `completed`: the call took effect. `retryable`: it did not, and may be repeated. `failed`: it did not, and
 * a repeat would not help. `unknown`: it may have taken effect.
 */
export interface CallOutcome {
    readonly result: 'completed' | 'retryable' | 'unknown' | 'failed';
    readonly note?: string;
    readonly retryAfterMs?: number;
    readonly response?: Uint8Array;
}

/** A row of the campaigns, with the shapes that this room gives to its JSON columns. */
export interface Campaign extends Omit<CampaignRow, 'state' | 'selection' | 'plan'> {
    readonly state: CampaignState;
    readonly selection: Selection;
    readonly plan: CampaignPlan | null;
}

/** The modes of a campaign. See `Mode`. */
export type CampaignMode = 'replay' | 'backfill' | 'rebuild' | 'repair' | 'forensic';

/** The messages that a campaign covers, fixed at its preview. */
export interface CampaignPlan {
    readonly ranges: readonly LogRange[];
    readonly unit: 'offsets' | 'bytes' | 'rows';
    readonly oldestMs: number | null;
    readonly keys: readonly string[] | null;
    readonly parked?: {
        readonly digest: string;
        readonly behind: number;
    };
    readonly archive?: ArchivePlan;
    readonly tables?: readonly string[];
    readonly catchUp?: readonly LogRange[];
}

/** What a campaign would do, before it is started. */
export interface CampaignPreview {
    readonly campaign: Campaign;
    readonly plan: CampaignPlan;
    readonly extent: number;
    readonly aheadOfLive: readonly LogRange[];
    readonly unknownToLive: number;
    readonly givenUp: GivenUp;
    readonly targets: {
        readonly external: readonly string[];
        readonly publish: readonly string[];
    };
}

/** How far a campaign is. */
export interface CampaignProgress {
    readonly campaign: Campaign;
    readonly done: number;
    readonly extent: number;
    readonly outcomes: Readonly<Record<string, number>>;
    readonly messages: number;
    readonly findings: number;
    readonly suppressedEffects: number;
    readonly secondsRun: number;
    readonly secondsLeft: number | null;
}

/** What `create` of a campaign needs: its mode, its selection and who asks for it. */
export interface CampaignRequest {
    readonly mode: CampaignMode;
    readonly selection: Selection;
    readonly rebuildKeys?: boolean;
    readonly reason: string;
    readonly effects?: 'suppressed' | 'requested';
    readonly rateMax?: number | null;
}

/**
 * A campaign's states in the database:
 *
 *   created ─▶ previewed ─(approved)─▶ running ─▶ ran ─▶ verified ─▶ finished
 *                                       │  ▲               └─ swapped ─┘   (only a rebuild)
 *                                       ▼  │
 *                               paused, failed          cancelled: from every state but finished
 *
 * A rebuild that is rolled back after the swap is cancelled.
 */
export type CampaignState = 'created' | 'previewed' | 'running' | 'paused' | 'failed' | 'ran' | 'verified' | 'swapped' | 'finished' | 'cancelled';

/**
 * Two columns of a row: the message that wrote it last, and the run. `onceward.run` has the run's consumer,
 * code version, mode and campaign.
 */
export interface Cause {
    readonly caused_by: string;
    readonly caused_by_run: number;
}

/** Settings of one failure class that differ from those of the section. */
export interface ClassPolicy {
    attemptsMax?: number;
    delayMs?: number;
    delayMaxMs?: number;
    terminal?: 'parked' | 'dead-lettered' | 'quarantined' | 'halted' | 'ignored';
    breaker?: boolean;
}

/** The time of this process. The database's clock decides what is old. */
export interface Clock {
    nowMs(): number;
}

/**
 * Decodes bytes. Throws on anything it cannot represent exactly; must not keep the bytes. It may return a
 * promise. Some codes of thrown errors have an outcome of their own: `registry_unavailable` and
 * `configuration` pause the consumer, and `schema_unknown` parks the message until its schema is known.
 */
export interface Codec {
    readonly name: string;
    readonly waitMaxMs?: number;
    decode(bytes: Buffer, limits: Limits, delivery: DeliveryFacts): unknown;
    knows?(bytes: Buffer, limits: Limits, delivery: DeliveryFacts): Promise<boolean>;
    compare?(request: ComparisonRequest): Promise<SchemaComparison>;
}

/** A command with an identity derived from its cause. Creating it again creates the same command. */
export interface Command<P> {
    readonly id: string;
    readonly type: string;
    readonly body: P;
    readonly correlationId: string;
    readonly causationId: string;
    readonly headers: Readonly<Record<string, string>>;
}

/** Options of `commandFrom`. */
export interface CommandOptions<P> {
    readonly consumer: string;
    readonly type: string;
    readonly body: P;
    readonly cause?: readonly (string | number | bigint)[];
}

/** How the tables of a rebuild are compared before a swap. */
export interface ComparedTable {
    key?: readonly string[];
    columns?: readonly string[];
    mayChange?: readonly string[];
}

/** A contract with its defaults applied, checked and frozen. */
export interface Consumer<M = unknown, Tx = unknown> extends Omit<ConsumerContract<M, Tx>, 'message' | 'failure' | 'batch' | 'inbox' | 'isolation' | 'identity' | 'settle' | 'replay' | 'evidence' | 'retention' | 'objectives'> {
    readonly generation: number;
    readonly order: 'none' | 'key' | 'partition';
    readonly dedup: Dedup;
    readonly settle: Required<SettleSection>;
    readonly handlerVersion: string;
    readonly message: {
        readonly schema: MessageSection<M>['schema'];
        readonly codec: Codec;
        readonly limits: Limits;
        readonly digestHeaders: readonly string[];
        readonly maskedMembers: MessageSection<M>['maskedMembers'];
        readonly types: MessageSection<M>['types'];
        readonly versions: MessageSection<M>['versions'];
        readonly tombstones: 'quarantine' | 'handle';
    };
    readonly identity: IdentitySection<M>;
    readonly failure: FailureRules;
    readonly batch: Required<BatchSection>;
    readonly inbox: Required<InboxSection>;
    readonly isolation: Required<IsolationSection>;
    readonly replay: Required<Omit<ReplaySection, 'window'>> & {
        readonly windowMs: number | null;
    };
    readonly objectives: Objectives;
    readonly evidence: Required<EvidenceSection>;
    readonly retention: Retention | null;
    readonly declared: ConsumerContract<M, Tx>;
}

/**
 * Everything a consumer declares: its source, how it identifies and orders messages, its effect, and its
 * failure policy. A contract is plain data plus the functions that read and apply a message.
 */
export interface ConsumerContract<M = unknown, Tx = SqlTransaction, External extends string = string, Publish extends string = string> {
    name: string;
    generation?: number;
    owner: string;
    producer?: string;
    description?: string;
    risk: Risk;
    source: SourceDeclaration;
    message?: StandardSchemaV1<unknown, M> | MessageSection<M>;
    identity: IdentitySection<M>;
    order?: 'none' | 'key' | 'partition';
    dedup?: Dedup;
    settle?: SettleSection;
    effect?: EffectSection<M, External, Publish>;
    failure?: FailureSection;
    batch?: BatchSection;
    inbox?: InboxSection;
    isolation?: IsolationSection;
    replay?: ReplaySection;
    evidence?: EvidenceSection;
    retention?: RetentionSection;
    objectives?: ObjectivesSection;
    reconcile?: ReconcileSection;
    handlerVersion?: string;
    handle?: Handler<M, Tx, External, Publish>;
    handleBatch?: BatchHandler<M, Tx, External, Publish>;
}

/**
 * A contract that a policy file completes. The parts that need code are in TypeScript; owner, risk and
 * identity may be in the file.
 */
export type ConsumerParts<M = unknown, Tx = SqlTransaction, External extends string = string, Publish extends string = string> = Omit<ConsumerContract<M, Tx, External, Publish>, FilePart> & Partial<Pick<ConsumerContract<M, Tx, External, Publish>, FilePart>>;

/**
 * The lifecycle of one consumer; `BatchScheduler` does its work:
 *
 *   new ──start──▶ running ──drain──▶ draining ──▶ stopped
 *                     └── configuration error, broken invariant ──▶ halted (nothing settled)
 */
export declare class ConsumerProcess<M, Tx> {
    #private;
    constructor(options: ConsumerOptions<M, Tx>);
    get state(): ConsumerState;
    get sourceDisconnected(): boolean;
    get degraded(): readonly string[];
    get stalled(): Stall | null;
    get tally(): TallySnapshot;
    get enrolment(): Enrolment | null;
    get lag(): readonly PartitionLag[];
    unfinished(): Iterable<Received>;
    get finished(): Promise<void>;
    start(): Promise<void>;
    drain(deadlineMs?: number): Promise<void>;
    leave(): void;
}

/** Where a consumer is in its life, from its start to its end. */
export type ConsumerState = 'new' | 'running' | 'draining' | 'stopped' | 'halted';

/** What `contribution(...)` adds up, and into which table. */
export interface ContributionDeclaration<M> {
    readonly facts: string;
    readonly summary: string;
    readonly window: ContributionWindow | 'none';
    readonly at?: FieldOf<M, number | string | Date>;
    readonly key: FieldOf<M, unknown>;
    readonly eventId: FieldOf<M, unknown>;
    readonly values?: Readonly<Record<string, FieldOf<M, number | bigint | string>>>;
    readonly corrects?: FieldOf<M, string | null | undefined>;
    readonly withdraws?: FieldOf<M, boolean>;
    readonly notNegative?: readonly string[];
    readonly on?: Partial<Record<ContributionRefusal, EffectResponse>>;
    readonly retryDelayMs?: number;
    readonly after?: After<M, ContributionResult>;
}

/** An effect made by `contribution(...)`. */
export interface ContributionEffect<M> extends DeclaredEffect<M> {
    drift(query: SqlTransaction['query'], summary?: string): Promise<readonly Drift[]>;
    rebuild(query: SqlTransaction['query'], into: string): Promise<void>;
    recompute(tx: SqlTransaction, time: {
        readonly from: Date;
        readonly to: Date;
    }): Promise<void>;
}

/** A fact that was added. */
export interface ContributionResult {
    readonly eventId: string;
    readonly key: string;
    readonly windowsMs: readonly number[];
    readonly reversed: string | null;
}

/** Windows of event time. A fact is in one of them, or with `everyMs` in several. */
export interface ContributionWindow {
    readonly sizeMs: number;
    readonly everyMs?: number;
    readonly latenessMs: number;
    readonly late: 'stale' | 'park' | 'accept';
    readonly originMs?: number;
}

/** Any other system: a search index, an object store, a vendor's library. */
export interface CustomTarget extends TargetTraits {
    kind: 'custom';
    call: (request: TargetRequest, context: TargetContext) => Promise<CallOutcome>;
}

/** The outcome of one message, and why. */
export interface Decision {
    readonly outcome: Outcome;
    readonly reason: string;
    readonly status: MarkerStatus | null;
    readonly failureClass: string;
    readonly code: string;
    readonly error: string | null;
    readonly exception?: string | undefined;
    readonly place: string;
    readonly retryDelayMs: number;
    readonly attempts: number;
    readonly exhausted: string | null;
    readonly waits: Waits | null;
    readonly blocksKey: boolean;
    readonly outOfTurn: boolean;
    readonly outage: boolean;
    readonly braked: boolean;
}

/**
 * An effect that is declared instead of coded. It is made by `projection(...)` and similar functions, and set
 * as `effect.apply` in place of a handler. It is applied to a whole batch at once, and returns a verdict for
 * each message that changed nothing.
 */
export interface DeclaredEffect<M = unknown> {
    readonly kind: string;
    readonly codes?: readonly string[];
    readonly remembers?: boolean;
    readonly mayWait?: boolean;
    readonly repeatsMs?: number;
    readonly details?: string;
    readonly tombstones?: boolean;
    releaseWaiting?(query: SqlTransaction['query'], consumerId: number): Promise<void>;
    readonly tables?: readonly string[];
    traces?(): readonly EffectTrace[];
    problems(contract: ConsumerContract<M>): readonly {
        readonly place: string;
        readonly text: string;
    }[];
    verify(query: SqlTransaction['query'], start: EffectStart<M>): Promise<void>;
    mermaid?(): string;
    apply(context: EffectContext<M>): ReturnType<BatchHandler<M, SqlTransaction>>;
    after?(context: AfterContext<M, never>): ReturnType<Handler<M, SqlTransaction>>;
}

/** One allowed change of state. */
export interface DeclaredMove {
    readonly from: string | null | readonly string[];
    readonly to: string;
}

/** One delivery of a message by a broker. The bytes are exactly those the broker stored. */
export interface Delivery {
    readonly body: Buffer;
    readonly headers: Readonly<Record<string, unknown>>;
    readonly properties: DeliveryProperties;
    readonly origin: string;
    readonly position: string | null;
    readonly partition: string;
    readonly place: Place | null;
    readonly key: string | null;
    readonly redelivered: boolean;
    readonly deliveryCount: number;
    readonly token: unknown;
    readonly held?: HeldFacts;
    readonly archived?: KnownIdentity | undefined;
    firstSeenMs?: number | null;
}

/** Facts a broker carries beside the headers, under one set of names. */
export interface DeliveryProperties {
    readonly messageId?: string;
    readonly correlationId?: string;
    readonly type?: string;
    readonly contentType?: string;
    readonly contentEncoding?: string;
    readonly appId?: string;
    readonly timestampMs?: number;
    readonly tombstone?: true;
}

/** A row of the summary and the same row counted from the facts; null where it does not exist. */
export interface Drift {
    readonly key: string;
    readonly held: Readonly<Record<string, unknown>> | null;
    readonly counted: Readonly<Record<string, unknown>> | null;
}

/** What `apply` receives. */
export interface EffectContext<M> extends BatchContext<M, SqlTransaction> {
    readonly report?: (item: BatchItem<M>, entity: string, result: object) => void;
}

/**
 * The handling of a message that changed nothing:
 *
 * | response     | the message is                                                        |
 * | ------------ | --------------------------------------------------------------------- |
 * | `duplicate`  | marked as one and settled                                             |
 * | `ignore`     | marked as needing no effect and settled                               |
 * | `stale`      | marked as overtaken and settled                                       |
 * | `retry`      | tried again after `retryDelayMs`, and parked when attempts run out    |
 * | `park`       | parked; with key order, later messages of its key wait behind it      |
 * | `reject`     | dead-lettered                                                         |
 * | `quarantine` | quarantined: it is not retried automatically                          |
 * | `halt`       | not settled, and the consumer stops: an operator must act first       |
 */
export type EffectResponse = 'duplicate' | 'ignore' | 'stale' | 'retry' | 'park' | 'reject' | 'quarantine' | 'halt';

/** What a handler may request beside its writes. Names are those of the contract's `effect` section. */
export interface Effects<External extends string = string, Publish extends string = string> {
    external(target: TargetName<External, 'effect.external'>, request: ExternalRequest): void;
    publish(target: TargetName<Publish, 'effect.publish'>, request: PublishRequest): void;
    call(target: TargetName<External, 'effect.external'>, request: ExternalRequest): Promise<InlineAnswer | null>;
    evidence(name: string, detail: unknown): void;
    alreadyProcessed(messageId: string, consumer?: string): Promise<boolean>;
}

/** A mail server. SMTP has no idempotency keys: the policy is `at most once` or `manual`. */
export interface EmailTarget extends TargetTraits, Pick<OutboundTraits, 'allowPrivate'> {
    kind: 'email';
    host: string;
    port?: number;
    tls?: 'implicit' | 'starttls' | 'none';
    credentials?: {
        readonly user: Secret;
        readonly password: Secret;
    };
    from: string;
    messageIdDomain?: string;
}

/** The identities of one message and the broker facts of its delivery. */
export interface Envelope {
    readonly id: string;
    readonly businessKey: string | null;
    readonly orderKey: string | null;
    readonly eventId: string | null;
    readonly idempotencyKey: string | null;
    readonly aggregateId: string | null;
    readonly aggregateVersion: string | null;
    readonly correlationId: string | null;
    readonly causationId: string | null;
    readonly type: string | null;
    readonly producer: string | null;
    readonly schemaVersion: string | null;
    readonly occurredAtMs: number | null;
    readonly headers: Readonly<Record<string, unknown>>;
    readonly properties: DeliveryProperties;
    readonly origin: string;
    readonly key: string | null;
    readonly position: string | null;
    readonly redelivered: boolean;
    readonly replay: {
        readonly mode: CampaignMode;
        readonly campaign: string | null;
    } | null;
}

/** Everything the engine knows about its environment; passed in, so that a simulator can replace it. */
export interface Environment {
    readonly clock: Clock;
    readonly timers: Timers;
    readonly random: () => number;
    readonly log: Log;
    readonly metrics: Metrics;
    readonly traces: Traces;
    readonly reach: Reach;
}

/** Every operational error of the library. Codes are stable; messages state what was lost and what to do. */
export type ErrorCode = 'contract_invalid' | 'configuration' | 'schema_missing' | 'schema_too_old' | 'schema_too_new' | 'wrong_environment' | 'wrong_server' | 'server_changed' | 'consumer_renamed' | 'consumer_halted' | 'topology_mismatch' | 'topology_unsafe' | 'broker_unreachable' | 'database_unreachable' | 'start_aborted' | 'publish_unroutable' | 'publish_refused' | 'producer_fenced' | 'publish_unconfirmed' | 'commit_not_confirmed' | 'tx_closed' | 'tx_error_swallowed' | 'tx_not_awaited' | 'tx_control' | 'tx_bypassed' | 'handler_timeout' | 'effect_conflict' | 'effect_unknown_target' | 'effect_closed' | 'effect_halted' | 'ownership_lost' | 'lease_lost' | 'position_moved' | 'records_lost' | 'retention_too_short' | 'behind_horizon' | 'clocks_disagree' | 'registry_unavailable' | 'schema_unknown' | 'schema_refused' | 'embedded_unavailable' | 'usage';

/** One external call, as a handler requests it. */
export interface ExternalRequest {
    key?: string;
    body: unknown;
    contentType?: string;
}

/**
 * A system outside the database that an effect calls. `kind` selects the protocol, `policy` decides when a
 * call may be repeated.
 */
export type ExternalTarget = HttpTarget | WebhookTarget | EmailTarget | CustomTarget;

/** What kind of failure an error is; each class has its own policy. */
export type FailureClass = 'transient' | 'overload' | 'rate limited' | 'business conflict' | 'validation' | 'poison' | 'configuration' | 'corruption';

/** How often and how long a failed message is retried, and where it ends. See `docs/failure.md`. */
export interface FailureSection {
    attemptsMax?: number;
    delayMs?: number;
    delayMaxMs?: number;
    jitter?: boolean;
    mode?: 'block' | 'defer' | 'retry queue' | 'retry topic';
    classes?: Record<string, FailureClass>;
    policies?: Partial<Record<FailureClass, ClassPolicy>>;
    poison?: PoisonSection;
    breaker?: FailureBreaker | false;
    brake?: FailureBrake | false;
    redelivery?: RedeliverySection;
    exhausted?: 'parked' | 'dead-lettered' | 'stop';
    parking?: ParkingSection;
    deadLetter?: string | DeadLetterSection;
}

/** A version that a projection has not seen, between two that it has. */
export interface Gap<M = unknown> {
    readonly key: Readonly<Record<string, string>>;
    readonly found: bigint | null;
    readonly version: bigint;
    readonly message: M;
    readonly signal: AbortSignal;
}

/** The action for a fact that cannot wait any longer. */
export type GapAction = 'accept' | 'park' | 'repair' | 'halt key';

/**
 * The handling of a fact when earlier versions have not been seen:
 *
 * | policy          | the fact                                                                              |
 * | --------------- | ------------------------------------------------------------------------------------- |
 * | `skips allowed` | is applied: versions increase, not by one, and no gap exists                          |
 * | `accept latest` | is applied, with a note                                                               |
 * | `wait`          | is stored until the missing ones arrive, or the deadline or a cap is reached          |
 * | `repair`        | is applied on top of the answer of the source of truth                                |
 * | `fail fast`     | is quarantined; its key is blocked until an operator releases it                      |
 * | `rebuild`       | is not applied: `onceward.rebuild_key` records its key and the version to reach       |
 */
export type GapPolicy<M = unknown> = 'skips allowed' | 'accept latest' | 'fail fast' | 'rebuild' | ({
    policy: 'repair';
} & Repair<M>) | WaitPolicy<M>;

/** What a handler receives for one message. */
export interface HandlerContext<M, Tx, External extends string = string, Publish extends string = string> {
    readonly message: M;
    readonly envelope: Envelope;
    readonly tx: Tx;
    readonly effects: Effects<External, Publish>;
    readonly waited: 'released' | 'too late' | null;
    readonly run: number;
    readonly mode: Mode;
    readonly signal: AbortSignal;
    readonly log: Log;
}

/** Whether a process does its work now. */
export interface Health {
    readonly ready: boolean;
    readonly reasons: readonly string[];
    readonly oldestUnfinishedSeconds: number | null;
    readonly stalledSeconds: number | null;
}

/** An HTTP endpoint. */
export interface HttpTarget extends TargetTraits, OutboundTraits {
    kind?: 'http';
    url: string;
    method?: 'POST' | 'PUT' | 'PATCH';
    headers?: Record<string, string | Secret>;
    keyHeader?: string | null;
    replayedHeader?: string;
}

/**
 * A complete answer of the target with a 2xx status. Any other answer throws, and the failure policy applies.
 */
export interface InlineAnswer {
    readonly status: number;
    readonly body: Uint8Array;
}

/** Limits of one message, checked before anything is parsed. */
export interface Limits {
    readonly bytesMax: number;
    readonly depthMax: number;
    readonly keysMax: number;
    readonly headersMax: number;
    readonly headerBytesMax: number;
    readonly decompressedBytesMax: number;
}

/** Structured log lines. The writer escapes values; message bodies are never logged. */
export interface Log {
    debug(message: string, fields?: LogFields): void;
    info(message: string, fields?: LogFields): void;
    warn(message: string, fields?: LogFields): void;
    error(message: string, fields?: LogFields): void;
    isOn?(level: LogLevel): boolean;
}

/** The body of an e-mail effect, as JSON. */
export interface Mail {
    readonly to: string | readonly string[];
    readonly subject: string;
    readonly text: string;
    readonly html?: string;
    readonly replyTo?: string;
}

/**
 * Why a message is handled.
 *
 * - `live`: it has just arrived.
 * - `replay`: history; applied messages are skipped, missing ones are applied.
 * - `backfill`: history from before this consumer existed.
 * - `rebuild`: all of history again, into separate tables.
 * - `repair`: selected keys; ignored and stale messages among them are handled again.
 * - `forensic`: everything is rolled back.
 *
 * In every mode but `live`, external calls and published messages are suppressed unless an operator approved
 * them.
 */
export type Mode = 'live' | CampaignMode;

/** The identity of a notification. Neither the message that requested it nor its text is part of it. */
export interface NotificationIdentity {
    readonly notificationId: string;
    readonly recipient: string;
    readonly templateVersion: string | number;
}

/** Every error of this library: a stable code, and a text that says what happened and what did not. */
export declare class OncewardError extends Error {
    readonly name = "OncewardError";
    readonly code: ErrorCode;
    readonly details: Readonly<Record<string, unknown>>;
    constructor(code: ErrorCode, message: string, options?: {
        cause?: unknown;
        details?: Readonly<Record<string, unknown>>;
    });
}

/** The one decision made for a delivery. */
export type Outcome = 'applied' | 'duplicate' | 'ignored' | 'stale' | 'stored' | 'waiting' | 'already held' | 'retry'
 | 'deferred'
 | 'rerouted' | 'parked' | 'dead-lettered' | 'quarantined' | 'halted';

/** A message that leaves the outbox. */
export interface OutgoingMessage {
    readonly exchange: string | null;
    readonly queue: string;
    readonly messageId: string;
    readonly key: string | null;
    readonly headers: Readonly<Record<string, unknown>>;
    readonly properties: DeliveryProperties;
    readonly body: Buffer;
}

/** Messages that need attention, as the input of a campaign. */
export interface ParkedSelection {
    readonly of: 'parked';
    readonly cause?: string;
    readonly keys?: readonly string[];
}

/** The parts of a consumer that may run in one process or in several. */
export type Part = 'consumer' | 'worker' | 'dispatcher' | 'relay' | 'retention';

/** A policy file after reading: its usable values, and every problem. */
export interface Policy {
    readonly file: string;
    readonly policies: Policies;
    readonly waivers: readonly PolicyWaiver[];
    readonly problems: readonly PolicyProblem[];
}

/** One fact that moved the version of a key. */
export interface ProjectedFact<M = unknown> {
    readonly version: bigint;
    readonly message: M;
    readonly item: BatchItem<M> | null;
    readonly deletes: boolean;
}

/** A key of a projection that a batch has moved, with its facts. */
export interface ProjectedKey<M = unknown> {
    readonly key: Readonly<Record<string, string>>;
    readonly facts: readonly ProjectedFact<M>[];
    readonly tx: SqlTransaction;
    readonly signal: AbortSignal;
    readonly log: Log;
}

/**
 * A table that follows the newest fact of each key. Every fact carries the whole state of the declared
 * columns, so the row depends on the newest fact alone, not on earlier ones or on repetitions.
 */
export interface ProjectionOptions<M = unknown> {
    table: string;
    rebuildTable?: string;
    key: Record<string, ReadFrom<M>>;
    version: Record<string, ReadFrom<M>>;
    columns?: Record<string, ReadFrom<M>>;
    handle?: ProjectionHandler<M>;
    delete?: {
        column: string;
        when: ((message: M) => boolean) | 'tombstone';
    };
    corrects?: (message: M) => string | number | bigint | null | undefined;
    digest?: string;
    cause?: boolean;
    firstVersion?: number;
    gap: GapPolicy<M>;
    after?: After<M, ProjectionResult>;
}

/** A fact that was applied. */
export interface ProjectionResult {
    readonly key: Readonly<Record<string, string>>;
    readonly from: bigint | null;
    readonly version: bigint;
    readonly deletes: boolean;
    readonly newest: boolean;
    readonly notes: readonly ResultCode[];
}

/** `behind`: not sent, because an earlier message of its key was not confirmed. */
export type PublishAnswer = 'confirmed' | 'behind' | Error;

/** One message, as a handler or a producer publishes it. */
export interface PublishRequest {
    body: unknown;
    key?: string | null;
    id?: string;
    type?: string;
    contentType?: string;
    correlationId?: string;
    headers?: Readonly<Record<string, unknown>>;
}

/**
 * Where `effects.publish(name, …)` sends messages. `cdc`: a connector reads the row from the outbox table,
 * and the row is removed later.
 */
export type PublishTarget = PublishPlace & {
    readonly evidence?: boolean;
    readonly destination?: string;
    readonly encoder?: MessageEncoder;
};

/** The broker adapter of the relay. */
export interface Publisher {
    publish(messages: readonly OutgoingMessage[], still: () => boolean): Promise<readonly PublishAnswer[]>;
    close(): Promise<void>;
    connect?(): Promise<void>;
    readLimits?(queues: readonly string[]): Promise<ReadonlyMap<string, number | Error>>;
}

/** What a target says about an earlier call with an unknown outcome. */
export type QueryAnswer = 'completed' | 'not done' | 'unknown';

/**
 * Reads the history of a log for campaigns. It joins no group, stores no offset and leaves nothing at the
 * broker. Cursors are those of the live source of the same log, so positions and identities are the same.
 * Here a cursor is a whole number, because the end of a range must be recognised.
 */
export interface RangeReader {
    readonly origin: string;
    survey(edges: Edges): Promise<readonly LogRange[]>;
    read(partition: string, from: Position): Promise<Page>;
    close(): Promise<void>;
    committed?(partitions: readonly string[]): Promise<ReadonlyMap<string, Position>>;
}

/** Each query is one SELECT, run read-only. See `docs/explain.md`. */
export interface ReconcileSection {
    effects: string;
    covers?: 'all' | 'some';
    perMessage?: 'one' | 'any';
    edited?: string;
}

/** How a projection asks the source of truth for the newest fact of a key. */
export interface Repair<M = unknown> {
    fetch: (gap: Gap<M>) => Promise<M | null>;
    timeoutMs?: number;
    retryMs?: number;
}

/**
 * What the dispatcher may do after a call with an unknown outcome.
 *
 * - `keyed`: the target stores the idempotency key and does the work once; the dispatcher repeats the call
 *   with the same key and bytes.
 * - `query first`: the dispatcher calls `query`, and repeats the call only after the answer `not done`.
 * - `at most once`: never repeated; the row stays `unknown` until an operator resolves it.
 * - `manual`: never repeated automatically; the row is `reconciling` until an operator records the outcome.
 */
export type RepeatPolicy = 'keyed' | 'query first' | 'at most once' | 'manual';

/** Steps of a campaign that need the consumer's contract; the others need only the database. */
export interface Replay {
    create(request: CampaignRequest): Promise<Campaign>;
    preview(id: string, options?: {
        readonly dryRun?: boolean;
    }): Promise<CampaignPreview>;
    run(id: string, options?: {
        readonly onProgress?: (progress: CampaignProgress) => void;
        readonly signal?: AbortSignal;
        readonly waitMaxMs?: number;
    }): Promise<Campaign>;
    swap(id: string, options?: {
        readonly acceptMissing?: boolean;
        readonly acceptUnknown?: boolean;
        readonly accept?: Accepted;
        readonly because?: string;
        readonly waitMaxMs?: number;
    }): Promise<Swap>;
    compare(id: string): Promise<readonly TableComparison[]>;
    rollBack(id: string): Promise<Swap>;
    close(): Promise<void>;
}

/** Where campaigns of a consumer find their database and brokers. */
export interface ReplayOptions extends BrokerSecurity {
    readonly databaseUrl: string;
    readonly pool?: SqlPool | undefined;
    readonly kafkaBootstrap?: string | undefined;
    readonly rabbitmqStreamUrl?: string | undefined;
    readonly environment?: string | undefined;
    readonly store?: Store<SqlTransaction> | undefined;
    readonly env?: Environment;
    readonly instance?: string;
    readonly waitMaxMs?: number;
}

/** Which campaigns may read history again. See `docs/replay.md`. */
export interface ReplaySection {
    modes?: readonly CampaignMode[];
    window?: Duration;
    effects?: 'with approval' | 'never';
    tables?: readonly string[];
    compare?: Readonly<Record<string, ComparedTable>>;
}

/**
 * How long each kind of record is kept. Defaults depend on the contract's risk. A start is refused if markers
 * are kept for less than the longest time after which a duplicate can arrive.
 */
export interface RetentionSection {
    markers?: Duration;
    businessKeys?: Duration;
    effects?: Duration;
    notes?: Duration;
    attempts?: Duration;
    deadLetters?: Duration;
    receipts?: Duration;
    suppressedEffects?: Duration;
    heldActions?: Duration;
    sourceKeeps?: Duration;
    action?: 'delete' | 'archive';
    behindHorizon?: 'park' | 'apply';
    partitions?: 'daily';
    tenantSeparator?: string;
    tenants?: Readonly<Record<string, Duration>>;
}

/** The cost of a wrong or lost effect. Defaults for retention and objectives depend on it. */
export type Risk = 'money' | 'regulatory' | 'notification' | 'projection' | 'telemetry' | 'low value';

/**
 * Missing addresses and the environment are read from the same variables as on the command line, such as
 * `ONCEWARD_RABBITMQ_URL`.
 */
export interface RunOptions extends StartOptions, BrokerSecurity {
    readonly databaseUrl: string;
    readonly rabbitmqUrl?: string | undefined;
    readonly kafkaBootstrap?: string | undefined;
    readonly rabbitmqCluster?: string | undefined;
    readonly kafkaCluster?: string | undefined;
    readonly rabbitmqStreamUrl?: string | undefined;
    readonly mode?: Mode;
    readonly parts?: readonly Part[];
    readonly instance?: string;
    readonly dispatcherLeaseMs?: number;
    readonly relayLeaseMs?: number;
    readonly cdcKeepMs?: number;
    readonly archiveFolder?: string | undefined;
    readonly retentionFirstMs?: number;
    readonly retentionEveryMs?: number;
    readonly gaugesMaxAgeMs?: number | undefined;
    readonly schemaLookEveryMs?: number | undefined;
    readonly environment?: string | undefined;
    readonly prepare?: Prepare | undefined;
    readonly env?: Environment;
    readonly isolated?: boolean;
}

/** Missing addresses are read from the same variables as on the command line. */
export interface RunTransformOptions extends StartOptions, BrokerSecurity {
    readonly kafkaBootstrap?: string | undefined;
    readonly transactionTimeoutMs?: number;
    readonly env?: Environment;
}

/** A running consumer with its dispatcher and relay. */
export interface Running {
    readonly consumer: ConsumerProcess<unknown, SqlTransaction> | null;
    readonly worker: ConsumerProcess<unknown, SqlTransaction> | null;
    drain(deadlineMs?: number): Promise<void>;
    leave(): void;
    health(): Health;
    readonly finished: Promise<void>;
}

/** A running transform. */
export interface RunningTransform extends Pick<Running, 'drain' | 'leave' | 'health' | 'finished'> {
    readonly tally: TransformTally;
}

/** A secret, given as the name of an environment variable. The dispatcher reads it when it starts. */
export interface Secret {
    readonly env: string;
    readonly prefix?: string;
}

/**
 * What an operator wants to read again, stored as requested. `log`: the topic, stream or files of the
 * contract. `file`: JSON lines. `archive`: a folder or file that retention wrote. `held`: messages in the
 * store in these states, read and not changed. `parked`: parked messages, which are processed.
 */
export type Selection = ({
    readonly of: 'log';
    readonly start: Edge;
    readonly end: Edge;
} | FileSelection | {
    readonly of: 'archive';
    readonly path: string;
} | {
    readonly of: 'held';
    readonly states: readonly HeldState[];
} | ParkedSelection) & {
    readonly keys?: readonly string[];
    readonly includingSkipped?: boolean;
};

/** A broker adapter: delivers messages and acknowledges them. */
export interface Source {
    readonly name: string;
    readonly capabilities: SourceCapabilities;
    open(options: OpenOptions): Promise<Subscription>;
}

/** What a source can do. Contracts are checked against it before anything is opened. */
export interface SourceCapabilities {
    readonly order: {
        readonly key: boolean;
        readonly partition: boolean;
    };
    readonly ordersByDeliveryKey?: boolean;
    readonly positions: boolean;
    readonly deliveryCount: boolean;
    readonly redelivers: boolean;
}

/** Made by a driver's function, such as `queue(...)`; plain data. */
export interface SourceDeclaration {
    readonly kind: string;
}

/** Something that happened to a source, other than a delivery. */
export type SourceEvent = {
    readonly kind: 'connected';
} | {
    readonly kind: 'disconnected';
    readonly reason: string;
}

/** The batch's transaction, as a handler sees it. */
export interface SqlTransaction {
    query<Row = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<{
        rows: Row[];
        rowCount: number;
    }>;
}

/**
 * The states of an aggregate and the events that move it. `from: null` creates the aggregate in its initial
 * state.
 *
 *     {
 *       initial: 'open',
 *       states: ['open', 'closed'],
 *       events: { Opened: { from: null, to: 'open' }, Closed: { from: 'open', to: 'closed' } },
 *     }
 */
export interface StateMachine {
    readonly initial: string;
    readonly states: readonly string[];
    readonly events: Readonly<Record<string, DeclaredMove | readonly DeclaredMove[]>>;
}

/**
 * The database adapter. `Tx` is the type of a handler's `tx`. One store serves many consumers; one
 * transaction serves one batch of one consumer.
 *
 * The members up to `diagnose` are required. Each optional group belongs to a feature of the contract or of
 * the source. A consumer whose contract needs a missing group is refused at start with a `configuration`
 * error.
 */
export interface Store<Tx> {
    readonly capabilities: StoreCapabilities;
    enroll(consumer: ConsumerFacts): Promise<Enrolment>;
    closeRun(enrolment: Enrolment, halted?: string): Promise<void>;
    transaction<T>(enrolment: Enrolment, work: (session: StoreSession<Tx>) => Promise<T>): Promise<T>;
    ping(): Promise<void>;
    diagnose(error: unknown): StoreTrouble;
    readonly checkpoints?: CheckpointStore;
    readonly work?: WorkQueue;
    readonly suspects?: SuspectStore;
    readonly brakes?: BrakeLedger;
    readonly sql?: StoreSql;
    readonly registry?: StoreRegistry;
    readonly evidence?: StoreEvidence;
}

/** What a store can do. Contracts are checked against it before anything is opened. */
export interface StoreCapabilities {
    readonly durable: boolean;
    readonly shared: boolean;
    readonly sql: boolean;
    readonly concurrent: boolean;
    readonly businessKeys?: boolean;
    readonly receipts?: boolean;
    readonly keyOrder?: boolean;
    readonly outgoing?: boolean;
}

/**
 * The calls of one batch inside one transaction, in this order; most batches need only some of them:
 *
 * 1. insert: `log.positions`, `campaign.givenUp`, `insertMarkers`, `held.makeLive`,
 *    `history.givenUpElsewhere`, `businessKeys`, `parkedTotal`, `keyOrder`, `held.keysAtWork`,
 *    `history.horizon`;
 * 2. apply: handler transactions and savepoints, `outgoing`;
 * 3. conclude: `suspects.withdrawAttempts`, `countAttempts`, `parkedTotal`, calls of `held`,
 *    `outgoing.publish` for retry copies, `conclude`, `campaign.journal`;
 * 4. `log.advance`, the last.
 *
 * The members up to `parkedTotal` are required. A group is present when the store's capabilities, or the
 * store's group of the same feature, say so.
 */
export interface StoreSession<Tx> {
    insertMarkers(claims: readonly NewMarker[], as?: 'applied' | 'stored'): Promise<readonly MarkerAnswer[]>;
    handlerTransaction(shared?: boolean): HandlerTransaction<Tx>;
    countAttempts(failures: readonly AttemptRecord[]): Promise<readonly AttemptCount[]>;
    conclude(conclusions: readonly Conclusion[]): Promise<ReadonlySet<Conclusion> | void>;
    parkedTotal(): Promise<number>;
    readonly businessKeys?: BusinessKeySession;
    readonly receipts?: ReceiptSession;
    readonly keyOrder?: KeyOrderSession;
    readonly outgoing?: OutgoingSession;
    readonly log?: LogSession;
    readonly held?: HeldSession;
    readonly suspects?: SuspectSession;
    readonly history?: HistorySession;
    readonly evidence?: EvidenceSession;
    readonly campaign?: CampaignSession;
    lockWrites?(messages: number): Promise<void>;
    savepoint?(): Savepoint;
}

/** Why a store cannot work at present, as its errors say. */
export type StoreTrouble = 
'contention'
 | 'lock wait'
 | 'victim'
 | 'unavailable'
 | 'configuration'
 | 'statement';

/** An open stream of deliveries. */
export interface Subscription {
    receive(max: number): Promise<readonly Delivery[]>;
    settle(deliveries: readonly Delivery[]): Promise<{
        readonly missed: number;
    }>;
    isLive(delivery: Delivery): boolean;
    close(): Promise<void>;
    readonly log?: SubscribedLog;
    readonly leases?: SubscribedLeases;
    stalled?(): Stall | null;
    lag?(): readonly PartitionLag[];
}

/** A swap of rebuilt tables: what was moved, and whether it can be taken back. */
export interface Swap {
    readonly campaign: Campaign;
    readonly tables: readonly string[];
    readonly messages: number;
    readonly closed?: number;
    readonly compared?: readonly TableComparison[];
}

/** The result of comparing a live table with the rebuilt one. */
export interface TableComparison {
    readonly table: string;
    readonly onlyInLive: number;
    readonly onlyInShadow: number;
    readonly different: number;
    readonly ahead: number;
    readonly besideSetAside: number;
    readonly generated: readonly GeneratedColumn[];
    readonly examples: readonly {
        readonly how: string;
        readonly key: Readonly<Record<string, unknown>>;
    }[];
}

/** What a custom target or a query receives beside the request. */
export interface TargetContext {
    readonly target: string;
    readonly signal: AbortSignal;
    readonly log: Log;
}

/** Identical for every attempt of one effect, except for `attempt`. */
export interface TargetRequest {
    readonly key: string;
    readonly body: Uint8Array;
    readonly contentType: string;
    readonly attempt: number;
}

/** Timers of the environment; tests replace them. */
export interface Timers {
    after(delayMs: number, callback: () => void): () => void;
    soon(callback: () => void): void;
}

/**
 * A transform with its defaults applied, checked and frozen. It is a consumer whose position moves with its
 * outputs, so reading, failure rules, metrics and reviews are those of consumers.
 */
export interface Transform<M = unknown> extends Omit<Consumer<M, never>, 'declared'> {
    readonly to: readonly string[];
    readonly map: TransformContract<M>['map'];
    readonly declared: TransformContract<M>;
}

/** What the function receives for one record. */
export interface TransformContext<M> {
    readonly message: M;
    readonly envelope: Envelope;
    readonly signal: AbortSignal;
    readonly log: Log;
}

/**
 * Everything a Kafka transform declares: the topic it reads, the topics it writes to, and its failure policy.
 * It has no store: outputs, dead letters and consumed offsets are one Kafka transaction.
 */
export interface TransformContract<M = unknown> extends Pick<ConsumerContract<M>, 'name' | 'owner' | 'producer' | 'description' | 'risk' | 'source' | 'message' | 'handlerVersion'> {
    identity?: Omit<IdentitySection<M>, 'businessKey' | 'businessDigest' | 'idTime'>;
    failure?: TransformFailure;
    batch?: Pick<BatchSection, 'sizeMax' | 'handlerTimeoutMs'>;
    objectives?: Omit<ObjectivesSection, 'leasesExpiredPerHourMax' | 'outboxAgeMax' | 'parkingShareMax' | 'duplicateShareMax'>;
    to: readonly string[];
    map: TransformMap<M>;
}

/** Attempts are counted in memory: after a crash or a rebalance they begin again. */
export type TransformFailure = Omit<FailureSection, 'mode' | 'parking' | 'redelivery' | 'deadLetter'> & {
    deadLetter?: string | Omit<DeadLetterSection, 'manualReviewRequired'>;
};

/** The same for a transform. */
export type TransformParts<M = unknown> = Omit<TransformContract<M>, 'owner' | 'risk'> & Partial<Pick<TransformContract<M>, 'owner' | 'risk'>>;

/** What `transition(...)` declares: states, moves and where they are kept. */
export interface TransitionDeclaration<M> {
    readonly machine?: StateMachine;
    readonly aggregate: AggregateTable;
    readonly facts: string;
    readonly aggregateId: FieldOf<M, unknown>;
    readonly transitionId: FieldOf<M, unknown>;
    readonly event?: FieldOf<M, string>;
    readonly from?: FieldOf<M, string | null>;
    readonly to?: FieldOf<M, string>;
    readonly version?: FieldOf<M, string | number | bigint>;
    readonly actor: FieldOf<M, string | null | undefined>;
    readonly reason: FieldOf<M, string | null | undefined>;
    readonly set?: Readonly<Record<string, FieldOf<M, unknown>>>;
    readonly cause?: boolean;
    readonly on?: Partial<Record<TransitionRefusal, EffectResponse>>;
    readonly retryDelayMs?: number;
    readonly after?: After<M, TransitionResult>;
}

/** A transition that happened. */
export interface TransitionResult {
    readonly transitionId: string;
    readonly aggregateId: string;
    readonly from: string | null;
    readonly to: string;
    readonly version: bigint | null;
}

/**
 * What a handler may return or throw instead of succeeding:
 *
 * | verdict        | outcome of the message                                              |
 * | -------------- | ------------------------------------------------------------------- |
 * | `retryAfter`   | retried after the delay; counts as an attempt                       |
 * | `park`         | parked; with order by key, later messages of the key wait behind it |
 * | `ignore`       | valid, but needs no effect: marked and settled                      |
 * | `applied`      | applied, with a remark                                              |
 * | `reject`       | dead-lettered: never retried automatically                          |
 * | `stale`        | older than the current state: marked as stale and settled           |
 * | `duplicate`    | its event is known under another message id: marked and settled     |
 * | `quarantine`   | quarantined: unsafe to retry automatically                          |
 * | `wait`         | stored until the awaited version arrives, or time runs out          |
 */
export declare class Verdict {
    readonly [brand] = true;
    readonly kind: 'retry' | 'park' | 'ignore' | 'applied' | 'duplicate' | 'reject' | 'stale' | 'quarantine' | 'wait';
    readonly reason: string;
    readonly delayMs: number | null;
    readonly code: string;
    readonly waits: Waits | null;
    readonly blocksKey: boolean;
    private constructor();
    static retryAfter(delayMs: number, reason?: string, code?: string): Verdict;
    static park(reason: string, code?: string): Verdict;
    static ignore(reason: string, code?: string): Verdict;
    static applied(reason: string, code?: string): Verdict;
    static reject(reason: string, code?: string): Verdict;
    static stale(reason: string, code?: string): Verdict;
    static duplicate(reason: string, code?: string): Verdict;
    static quarantine(reason: string, code?: string, { blocksKey }?: {
        blocksKey?: boolean | undefined;
    }): Verdict;
    static wait(reason: string, waits: Waits): Verdict;
}

/** `id` is the same in every repetition of a call: store it, and do the work once. */
export type VerifiedWebhook = {
    readonly ok: true;
    readonly id: string;
    readonly keyId: string;
} | {
    readonly ok: false;
    readonly reason: string;
};

/** An HTTP endpoint whose receiver verifies the sender. Calls are signed as Standard Webhooks. */
export interface WebhookTarget extends TargetTraits, OutboundTraits {
    kind: 'webhook';
    url: string;
    headers?: Record<string, string | Secret>;
    secrets: Record<string, Secret>;
}

/** A received webhook: its headers, its bytes and the secrets of the sender. */
export interface WebhookToVerify {
    readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
    readonly body: Uint8Array;
    readonly secrets: Readonly<Record<string, string>>;
    readonly nowMs: number;
    readonly toleranceMs?: number;
}

/** An audit trail: one row per event id, written with the marker, never changed. */
export declare function audit<M>(declared: AuditDeclaration<M>): DeclaredEffect<M>;

/** Passes the bytes through, for contracts that decode in the handler. */
export declare const bytesCodec: Codec;

/**
 * For handlers: spread it into the row they write. The columns are `caused_by text` and
 * `caused_by_run integer`.
 */
export declare function cause({ envelope, run, }: {
    readonly envelope: Pick<Envelope, 'id'>;
    readonly run: number;
}): Cause;

/**
 * Turns an event into a command. "Do something" becomes "ensure that this exists once for this cause". A
 * redelivery, a replay and a second event for the same cause all produce the same command id. Pure. Pass the
 * result to `effects.publish`.
 */
export declare function commandFrom<P>(event: Pick<Envelope, 'id' | 'eventId' | 'correlationId'>, { consumer, type, body, cause }: CommandOptions<P>): Command<P>;

/**
 * Types the parts of a contract, like `defineConsumer`. `withPolicy` takes the missing ones from the policy
 * file, and checks what both say together.
 */
export declare function consumerParts<M = unknown, Tx = SqlTransaction, External extends string = string, Publish extends string = string>(parts: ConsumerParts<M, Tx, External, Publish>): ConsumerParts<M, Tx>;

/**
 * Counts facts, not deliveries: one row per event id, with counts and sums by key and window in the same
 * transaction. A correction is a reversing entry and a new fact. Facts are never updated or deleted, so the
 * sums can be recounted at any time.
 */
export declare function contribution<M>(declared: ContributionDeclaration<M>): ContributionEffect<M>;

/**
 * Checks a contract and applies its defaults. Throws one error that lists every problem; starts nothing.
 *
 * The type of a message comes from the schema, or from an annotation as in `id: (m: Order) => m.id`. With
 * type arguments instead, the compiler knows neither the names of targets (they are the third and the fourth
 * argument) nor which options contradict each other: these errors are then thrown at the start.
 */
export declare function defineConsumer<M = unknown, Tx = SqlTransaction, External extends string = never, Publish extends string = never, const Contract extends object = object>(contract: ConsumerContract<M, Tx, External, Publish> & Contract & ContractRules<Contract>): Consumer<M, Tx>;

/** Checks a contract and applies its defaults. Throws one error that lists every problem; starts nothing. */
export declare function defineTransform<M = unknown>(contract: TransformContract<M>): Transform<M>;

/** There is nothing to do for the message. */
export declare const ignore: typeof Verdict.ignore;

/**
 * Like `jsonCodec`, with whole numbers beyond 2^53 as bigint. Smaller ones are numbers; a schema that needs
 * one type coerces.
 */
export declare const jsonBigintCodec: Codec;

/**
 * Strict JSON. UTF-8 errors are fatal, because a lenient decoder maps distinct bytes to the same text. Depth
 * and members are counted before parsing. A `__proto__` member is refused, because a later `Object.assign`
 * would act on it. A whole number that JavaScript would round is refused, because two accounts would become
 * one.
 */
export declare const jsonCodec: Codec;

/**
 * Like `jsonCodec`, but rounds as `JSON.parse` does: for messages whose large numbers are measurements. No
 * identity may be read from such numbers.
 */
export declare const jsonRoundedCodec: Codec;

/**
 * Reads a policy file from disk, up to the largest size of a policy. `withPolicy` reports all of its
 * problems.
 */
export declare function loadPolicy(path: string, shownAs?: string): Promise<Policy>;

/**
 * The key of a notification, for `effects.external`. It creates one ledger row, and so one delivery, per
 * occasion, recipient and template version, however many messages request it. Recipients are hashed, because
 * keys are shown in lists and sent to targets.
 */
export declare function notification({ notificationId, recipient, templateVersion }: NotificationIdentity): {
    readonly key: string;
};

/** Opens the campaigns of a consumer. */
export declare const openReplay: typeof replay.openReplay;

/** The message needs a person. With order `key`, later messages of its key wait behind it. */
export declare const park: typeof Verdict.park;

/** A projection, for `effect.apply`. See `docs/effects.md`. */
export declare function projection<M>(options: ProjectionOptions<M>): DeclaredEffect<M>;

/** The bytes of the message cannot be trusted: they are kept apart for a person. */
export declare const quarantine: typeof Verdict.quarantine;

/** The clock, timers and randomness of this process. */
export declare function realEnvironment(options?: {
    readonly log?: Log;
    readonly reach?: Reach;
    readonly meter?: Meter | undefined;
}): Environment;

/** The message can never be applied: it is dead-lettered, and later messages pass it. */
export declare const reject: typeof Verdict.reject;

/** The message failed; it is tried again after the delay. Counts as an attempt. */
export declare const retryAfter: typeof Verdict.retryAfter;

/** Runs a consumer in this process, with its dispatcher, relay and retention, until it is drained. */
export declare function runConsumer<M>(consumer: Consumer<M, SqlTransaction>, options: RunOptions): Promise<Running>;
export declare function runConsumer<M, Tx>(consumer: Consumer<M, Tx>, options: RunOptions & {
    readonly store: Store<Tx>;
}): Promise<Running>;

/** Runs a Kafka transform in this process until it is drained. */
export declare const runTransform: typeof transform.runTransform;

/**
 * A UUID (version 8) derived from its parts: the same parts give the same id in every process at any time.
 * Use it for messages and commands that must keep their id when the same event causes them again.
 */
export declare function stableId(...parts: readonly [string | number, ...(string | number)[]]): string;

/** The message is older than what is known. */
export declare const stale: typeof Verdict.stale;

/**
 * The handle of a store whose client is synchronous, so that no statement is ever pending. `makeTx` creates
 * the handler's `tx`, which runs each statement through `send`.
 */
export declare function synchronousHandle<Tx>(makeTx: (send: <T>(statement: () => T) => T) => Tx): HandlerTransaction<Tx>;

/**
 * Moves aggregates between states: one transition per transition id, only from its start state, with the
 * aggregate locked. Each transition that happened is a row of the facts table. Each that did not is
 * classified and handled as declared.
 */
export declare function transition<M>(given: TransitionDeclaration<M>): DeclaredEffect<M>;

/**
 * For receivers. Returns the signing key and the call's id, or why the call is not authentic. Never throws.
 */
export declare function verifyWebhook(call: WebhookToVerify): VerifiedWebhook;

/**
 * The consumer or transform made from a contract and a policy file. Throws one error that lists every problem
 * in either, with line and column for those of the file; starts nothing.
 */
export declare function withPolicy<M = unknown, Tx = SqlTransaction>(contract: ConsumerParts<M, Tx> | Consumer<M, Tx>, policy: Policy, options?: WithPolicyOptions): Consumer<M, Tx>;
export declare function withPolicy<M = unknown>(contract: TransformParts<M> | Transform<M>, policy: Policy, options?: WithPolicyOptions): Transform<M>;
