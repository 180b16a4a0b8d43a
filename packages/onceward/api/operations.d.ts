/** A key of one act. An act that is sent again under its key happens once, and has the first answer. */
export interface ActKey {
    readonly key: string;
    readonly action: string;
}

/** The pool of one person. */
export interface ActingPool extends SqlPool {
    readonly repeated: boolean;
    readonly answered: boolean;
}

/** Which requests to list. */
export interface ApprovalFilter {
    readonly consumers?: readonly string[] | undefined;
    readonly states?: readonly DeletionRequest['state'][] | undefined;
    readonly idsMax?: number | undefined;
    readonly countMax: number;
}

/** Why a message waits for a person. */
export type AttentionReason = (typeof attentionReasons)[number];

/** One act of an operator, as the audit records it. */
export interface AuditRow {
    readonly seq: string;
    readonly at: string;
    readonly actor: string;
    readonly action: string;
    readonly outcome: 'done' | 'refused';
    readonly consumer: string | null;
    readonly subject: string | null;
    readonly reason: string;
    readonly detail: string;
    readonly hash: string;
}

/** A key that waits for an operator, or whose messages are being processed. */
export interface BlockedKeyRow {
    readonly key: string;
    readonly generation: number;
    readonly since: Date;
    readonly state: 'parked' | 'released';
    readonly waiting: number;
    readonly head: string | null;
    readonly headCode: string | null;
}

/** A row of the campaigns, with the shapes that this room gives to its JSON columns. */
export interface Campaign extends Omit<CampaignRow, 'state' | 'selection' | 'plan'> {
    readonly state: CampaignState;
    readonly selection: Selection;
    readonly plan: CampaignPlan | null;
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

/** The login of a console, as the database sees it. */
export interface ConsoleLogin {
    readonly login: string;
    readonly isConsole: boolean;
    readonly isPerson: boolean;
}

/** The newest runs of a consumer, and its blocked keys. */
export interface ConsumerDetail {
    readonly runs: readonly RunRow[];
    readonly blockedKeys: readonly BlockedKeyRow[];
}

/** What stops consumers, what waits for a second person, and how long people have let messages wait. */
export interface ConsumerTrouble {
    readonly halts: readonly Halt[];
    readonly oldestSetAside: readonly {
        readonly consumer: string;
        readonly seconds: number;
    }[];
    readonly requests: readonly WaitingRequests[];
    readonly openIncarnation: RecordedIncarnation | null;
}

/** The findings of a review. */
export type ContractReport = CheckReport;

/** Records that a log no longer had when a consumer read it. */
export interface DeclaredLoss {
    readonly id: number;
    readonly consumer: string;
    readonly generation: number;
    readonly partition: string;
    readonly from: string;
    readonly to: string | null;
    readonly records: number | null;
    readonly reason: string;
    readonly declaredAt: Date;
    readonly acceptedBy: string | null;
    readonly acceptedBecause: string | null;
    readonly withdrawnBecause: string | null;
    readonly digest: string;
    readonly state: 'open' | 'accepted' | 'resumed' | 'withdrawn';
}

/** A request to delete messages, which another person approves. */
export interface DeletionRequest {
    readonly id: string;
    readonly verb: 'delete' | 'fix';
    readonly consumer: string;
    readonly rows: number;
    readonly ids: readonly string[];
    readonly digest: string;
    readonly because: string;
    readonly requestedBy: string;
    readonly requestedAt: Date;
    readonly expiresAt: Date;
    readonly approvedBy: string | null;
    readonly executedBy: string | null;
    readonly declinedBy: string | null;
    readonly declinedBecause: string | null;
    readonly state: 'requested' | 'approved' | 'executed' | 'declined' | 'expired';
}

/** One line of the difference between two bodies. */
export interface DiffLine {
    readonly sign: ' ' | '-' | '+';
    readonly text: string;
}

/** Why a row exists: messages, decisions, attempts and effects behind it. */
export interface Explanation {
    readonly question: ExplainQuestion;
    readonly storedAs: string | null;
    readonly stories: readonly Story[];
    readonly absences: readonly Absence[];
    readonly limits: readonly string[];
}

/** What a fix changed. */
export interface Fixed {
    readonly digestBefore: string;
    readonly digestAfter: string;
    readonly diff: readonly DiffLine[] | null;
    readonly approval: {
        readonly id: string;
        readonly digest: string;
    } | null;
}

/** Messages of one hour, by outcome. */
export interface FlowHour {
    readonly from: Date;
    readonly consumers: readonly FlowSeries[];
}

/** The samples of the last hour, one value for each minute, oldest first; null for a minute without one. */
export interface FlowSeries {
    readonly consumer: string;
    readonly applied: readonly (number | null)[];
    readonly duplicates: readonly (number | null)[];
    readonly setAside: readonly (number | null)[];
    readonly failed: readonly (number | null)[];
    readonly lag: readonly (number | null)[];
    readonly pending: readonly (number | null)[];
    readonly perSecond: number | null;
}

/** A consumer whose last run halted, while none of its runs is alive. */
export interface Halt {
    readonly consumer: string;
    readonly reason: string;
    readonly at: Date;
}

/** Held work as operators see it. */
export interface HeldWork {
    readonly id: string;
    readonly consumer: string;
    readonly generation: number;
    readonly state: HeldState;
    readonly next: 'leased' | 'stuck' | 'due' | 'later' | 'for people';
    readonly messageId: string | null;
    readonly key: string | null;
    readonly version: string | null;
    readonly attempts: number;
    readonly leases: number;
    readonly ageSeconds: number;
    readonly dueInSeconds: number | null;
    readonly leaseSeconds: number | null;
    readonly leasedAt: Date | null;
    readonly type: string | null;
    readonly schemaVersion: string | null;
    readonly producer: string | null;
    readonly correlationId: string | null;
    readonly aggregate: string | null;
    readonly aggregateVersion: string | null;
    readonly failureClass: string;
    readonly code: string;
    readonly reason: string;
    readonly mode: string;
    readonly campaign: string | null;
}

/** An order key with its held messages, in the order in which they will be processed. */
export interface KeyView {
    readonly consumer: string;
    readonly key: string;
    readonly blocked: {
        readonly since: Date;
        readonly state: 'parked' | 'released';
        readonly waiting: number;
    } | null;
    readonly messages: readonly KeyMessage[];
    readonly more: boolean;
}

/** One external effect with its attempts and acts; of an e-mail, also who receives it and its subject. */
export interface LedgerDetail extends Omit<LedgerRecord, 'mailBody'> {
    readonly mail: MailHead | null;
}

/** One external effect as operators see it: the length and digest of its body, never the body. */
export interface LedgerEntry {
    readonly id: string;
    readonly consumer: string;
    readonly target: string;
    readonly key: string;
    readonly type: string | null;
    readonly messageId: string;
    readonly businessKey: string | null;
    readonly state: string;
    readonly waitsForPeople: boolean;
    readonly attempts: number;
    readonly createdAt: Date;
    readonly lastAttemptAt: Date | null;
    readonly completedAt: Date | null;
    readonly note: string | null;
}

/** Everything recorded about one parked message. */
export interface ParkedDetails extends ParkedRow, ParkedFacts {
    readonly body: Payload;
    readonly timeline: readonly ParkedEvent[];
}

/** A selection. Its values are only ever parameters of a statement. */
export interface ParkedFilter {
    readonly consumer?: string | undefined;
    readonly ids?: readonly string[] | undefined;
    readonly states?: readonly ParkedState[] | undefined;
    readonly cause?: string | undefined;
    readonly key?: string | undefined;
    readonly messageId?: string | undefined;
    readonly label?: string | undefined;
    readonly assignee?: string | undefined;
    readonly consumers?: readonly string[] | undefined;
    readonly failureClass?: string | undefined;
    readonly code?: string | undefined;
    readonly businessKey?: string | undefined;
    readonly type?: string | undefined;
    readonly since?: Date | undefined;
    readonly until?: Date | undefined;
    readonly payloadHas?: readonly string[] | undefined;
    readonly payloadHasAll?: readonly string[] | undefined;
    readonly after?: string | undefined;
    readonly before?: string | undefined;
    readonly newestFirst?: boolean | undefined;
    readonly countMax: number;
}

/** Messages of one consumer and state that failed alike. */
export interface ParkedGroup {
    readonly consumer: string;
    readonly generation: number;
    readonly state: ParkedState;
    readonly cause: string;
    readonly failureClass: string;
    readonly code: string;
    readonly place: string;
    readonly count: number;
    readonly example: string | null;
    readonly oldestAt: Date | null;
    readonly newestAt: Date | null;
}

/** The exact rows of an act, and the digest that binds them. */
export interface ParkedPreview {
    readonly rows: readonly ParkedRow[];
    readonly digest: string;
    readonly more: boolean;
    readonly behind: readonly KeyBacklog[];
    readonly targets: readonly CalledTarget[];
}

/** A message that needs attention, without its body. */
export interface ParkedRow {
    readonly id: string;
    readonly consumer: string;
    readonly generation: number;
    readonly state: ParkedState;
    readonly cause: string;
    readonly failureClass: string;
    readonly code: string;
    readonly place: string;
    readonly reason: string;
    readonly messageId: string | null;
    readonly key: string | null;
    readonly businessKey: string | null;
    readonly attempts: number;
    readonly seen: number;
    readonly firstAt: Date;
    readonly lastAt: Date;
    readonly bodyBytes: number;
    readonly label: string | null;
    readonly assignee: string | null;
    readonly mode: string;
    readonly campaign: string | null;
    readonly fixWaits: string | null;
}

/** Where a message that needs attention is. */
export type ParkedState = 'parked' | 'dead' | 'quarantined';

/** A member of a JSON payload that has this value as text: `['order', 'lines', '0', 'sku']`. */
export interface PayloadMember {
    readonly path: readonly string[];
    readonly value: string;
}

/** A redrive that begins with few messages and stops when too many of them fail again. */
export interface Ramp {
    readonly steps: readonly number[];
    readonly failedShareMax: number;
}

/** How far a redrive in stages has come, and why it stopped. */
export interface RampResult extends RampProgress {
    readonly state: RedriveStage['state'];
    readonly stoppedBecause: string | null;
}

/** A fix of a held message with what it changed. */
export interface RecordedFix extends Omit<HeldFix, 'before' | 'after'> {
    readonly diff: readonly DiffLine[] | null;
}

/** Which redrives to list. */
export interface RedriveFilter {
    readonly consumers?: readonly string[] | undefined;
    readonly state?: RedriveReport['state'] | undefined;
    readonly countMax: number;
}

/** A redrive with its counts. */
export interface RedriveReport {
    readonly requestId: string;
    readonly consumer: string;
    readonly state: 'moving' | 'stopped' | 'moved';
    readonly by: string;
    readonly at: Date;
    readonly because: string;
    readonly perSecond: number | null;
    readonly digest: string;
    readonly stoppedBecause: string | null;
    readonly outcomes: Readonly<Record<string, number>>;
    readonly rows: readonly RedrivenRow[];
}

/** One redrive without its rows. */
export interface RedriveSummary extends Omit<RedriveReport, 'rows' | 'outcomes' | 'stoppedBecause'> {
    readonly selected: number;
    readonly moved: number;
    readonly left: number;
    readonly behind: number;
}

/** An act that the console refused before the database could. The pool acts as the person. */
export interface RefusedAct {
    readonly action: string;
    readonly consumer: string | null;
    readonly subject: string | null;
    readonly why: string;
}

/** The incarnations of this database, and what a restore may have exposed. */
export interface RestoreView {
    readonly inRecovery: boolean;
    readonly open: RecordedIncarnation | null;
    readonly incarnations: readonly RecordedIncarnation[];
    readonly exposures: readonly Exposure[];
}

/** A process of a consumer, running or ended. */
export interface RunRow {
    readonly id: number;
    readonly generation: number;
    readonly instance: string;
    readonly mode: string;
    readonly campaign: string | null;
    readonly handlerVersion: string;
    readonly startedAt: Date;
    readonly heartbeatAt: Date;
    readonly alive: boolean;
    readonly pausedBecause: string | null;
    readonly haltedReason: string | null;
    readonly endedAt: Date | null;
}

/** A search that a person saved. */
export interface SavedFilter {
    readonly name: string;
    readonly query: string;
    readonly at: Date;
}

/** How much a search may read. */
export interface SearchLimits {
    readonly timeoutMs: number;
    readonly nowMs: () => number;
    readonly signal?: AbortSignal | undefined;
}

/** What a search found until it ended. */
export interface SearchResult {
    readonly rows: readonly ParkedRow[];
    readonly complete: boolean;
    readonly next: string | null;
}

/** What waits at the source of each consumer; null while no live process knows it. */
export interface SourceLag {
    readonly consumer: string;
    readonly partition: string;
    readonly behind: number;
}

/** The slice of a `pg` pool and client that the store uses. */
export interface SqlPool {
    connect(): Promise<PooledClient>;
    query(text: string, values?: readonly unknown[]): Promise<SqlResult>;
    end(): Promise<void>;
}

/** Consumers, work, effects, outbox and queues of a database at one time. */
export interface Status {
    readonly schemaVersion: number;
    readonly markersAbout: number;
    readonly consumers: readonly ConsumerStatus[];
    readonly ledger: readonly {
        consumer: string;
        target: string;
        state: string;
        count: number;
    }[];
    readonly outbox: readonly OutboxStatus[];
    readonly relays: readonly {
        destination: string;
        instance: string;
        buckets: number;
        leasedAt: Date | null;
        leaseSeconds: number;
    }[];
    readonly partitions: readonly PartitionStatus[];
    readonly openLosses: number;
    readonly unserved: readonly UnservedWork[];
    readonly unreadLevels: readonly UnreadLevels[];
    readonly queues: readonly {
        name: string;
        waiting: number;
        leased: number;
        oldestSeconds: number | null;
    }[];
    readonly retention: RetentionStatus;
}

/** One message at one consumer. */
export interface Story {
    readonly consumer: string;
    readonly generation: number;
    readonly messageId: string;
    readonly summary: string;
    readonly answers: readonly AuditAnswer[];
    readonly timeline: readonly TimelineEntry[];
}

/** A message that its broker refused at the last attempt; of each key the first one. */
export interface StuckMessage {
    readonly id: string;
    readonly kind: 'message' | 'retry copy' | 'dead letter';
    readonly destination: string;
    readonly exchange: string | null;
    readonly queue: string;
    readonly messageId: string;
    readonly key: string | null;
    readonly bodyBytes: number;
    readonly failures: number;
    readonly error: string | null;
    readonly behind: number;
    readonly writtenAt: Date;
}

/** One recorded event. */
export interface TimelineEntry {
    readonly at: Date | null;
    readonly what: string;
    readonly by: string | null;
    readonly text: string;
    readonly facts: Readonly<Record<string, unknown>>;
}

/** Requests of one kind at one consumer that no second person has decided. */
export interface WaitingRequests {
    readonly consumer: string;
    readonly kind: 'deletion' | 'fix' | 'campaign';
    readonly count: number;
}

/** Accepts a broker that is not the one seen before under its address. Audited. */
export declare function acceptBroker(pool: SqlPool, kind: string, cluster: string, because: string): Promise<void>;

/**
 * Accepts a loss under the login of the database session: at its next start the consumer continues after the
 * lost records. Changes one open loss that is as it was shown, or nothing.
 */
export declare function acceptLoss(pool: SqlPool, { id, consumer, because, seen }: Acceptance): Promise<DeclaredLoss>;

/**
 * Lets consumers continue with this copy. Readers of logs whose broker keeps the position are set back to the
 * positions of the copy.
 */
export declare function acceptServer(pool: SqlPool, id: number, because: string): Promise<{
    readonly partitionsSetBack: number;
}>;

/**
 * The pool of a console, used for one of its users. Every transaction names the user in `onceward.acting_as`
 * and forgets it at its end, so a pooled connection never carries a name to the next user. The database
 * ignores the name unless the login is a console. With a key, the first act is recorded under it.
 */
export declare function actingAs(pool: SqlPool, person: string, key?: ActKey): ActingPool;

/** A consumer's alert rules, with the state of each. */
export declare function alertsOf(consumer: Consumer): readonly Alert[];

/** The approver is the database's session user: a registered person other than the requester. */
export declare function approveCampaign(pool: SqlPool, id: string, { because, planDigest, hours }: CampaignApproval): Promise<Campaign>;

/** By a person other than the requester. `digest`: of the request; of a fix, SHA-256 of the new bytes. */
export declare function approveRequest(pool: SqlPool, id: string, digest: string, because: string): Promise<DeletionRequest>;

/**
 * Pure. Null for a message that is only parked behind another: the decision about the first one covers it. A
 * handler’s `park` and `reject` are `set aside`; its `retryAfter` without attempts left, and a class that the
 * contract retries, are `exhausted`.
 */
export declare function attentionReason({ state, class: failureClass, code }: SetAside, { rules }: Pick<FailureRules, 'rules'>): AttentionReason | null;

/** What speaks against a campaign: facts that a person must know before an approval. */
export declare function campaignFindings(pool: SqlPool, id: string, countMax: number): Promise<readonly CampaignFinding[]>;

/** Events of the campaign and their actors, oldest first. */
export declare function campaignHistory(pool: SqlPool, id: string): Promise<readonly CampaignEventRow[]>;

/**
 * Final. Applied messages stay applied. A running process is asked to stop; a crashed one is not waited for.
 */
export declare function cancelCampaign(pool: SqlPool, id: string, because: string): Promise<Campaign>;

/**
 * The findings of "onceward check --live" for one contract. Addresses of brokers come from the environment,
 * as on the command line. Starts, declares and changes nothing.
 */
export declare function checkContract(consumer: Consumer<never, never>, databaseUrl: string): Promise<ContractReport>;

/** Fields that are not given stay unchanged. */
export declare function classifyParked(pool: SqlPool, { consumer, ids, label, assignee, note }: Classification): Promise<{
    readonly rows: number;
}>;

/** Pure. Of addresses it shows only hosts, and no secrets. */
export declare function contractPage(consumer: Consumer | Transform): ContractPage;

/** By a second person, or by the requester. The request can never be approved after that. */
export declare function declineRequest(pool: SqlPool, id: string, because: string): Promise<DeletionRequest>;

/** The stages of a redrive where none are given. */
export declare const defaultRamp: Ramp;

/** Erases the bytes of an approved request. Id, identity and digest stay, here and in the audit. */
export declare function deleteParked(pool: SqlPool, { id, consumer }: {
    readonly id: string;
    readonly consumer: string;
}, options?: ActOptions): Promise<{
    readonly closed: number;
    readonly freed: number;
}>;

/**
 * Line diff of two texts by their longest common subsequence; null for more than 2,000 lines.
 */
export declare function diffLines(before: string, after: string): readonly DiffLine[] | null;

/**
 * Drops a message that its broker refuses. Relays then publish the messages behind it. The audit keeps its
 * id, its digest and the reason.
 */
export declare function dropStuck(pool: SqlPool, id: string, messageId: string, because: string): Promise<Pick<StuckMessage, 'kind' | 'queue' | 'behind'>>;

/**
 * Explains a message, key, effect or row by every trace of the messages behind it. Reads only, and never
 * scans a table of Onceward.
 */
export declare function explain(pool: SqlPool, question: ExplainQuestion, options?: ExplainOptions): Promise<Explanation>;

/** Severity and runbook of an alert for a consumer of this risk, as the rules for Prometheus have them. */
export declare function findAlert(name: string, risk: string): {
    readonly severity: AlertSeverity;
    readonly runbook: string;
};

/** One request with all of its row ids; null if there is no such request. */
export declare function findApproval(pool: SqlPool, id: string): Promise<DeletionRequest | null>;

/** Null if there is no such redrive. */
export declare function findRedrive(pool: SqlPool, requestId: string, countMax: number): Promise<RedriveReport | null>;

/**
 * Finishes and drops the old tables in one transaction: no later step would remove tables that were left.
 * Keys that awaited a rebuild and were repaired leave the list.
 */
export declare function finishCampaign(pool: SqlPool, id: string): Promise<Campaign>;

/**
 * Replaces the bytes of a parked message. The contract decodes them first: they must be readable and keep
 * message id, business key and order key, because the markers protect those. The original is kept. The
 * business key is compared by the fixed content.
 */
export declare function fixPayload<M, Tx>(pool: SqlPool, consumer: Consumer<M, Tx>, { id, body, because, dryRun }: PayloadFix, options?: ActOptions): Promise<Fixed>;

/** Messages that failed alike, with the largest group first. */
export declare function groupParked(pool: SqlPool, { consumer, countMax }: {
    readonly consumer?: string | undefined;
    readonly countMax: number;
}): Promise<readonly ParkedGroup[]>;

/** Whether this name, in any spelling that a reader takes for the same, is listed in `onceward.person`. */
export declare function isListedPerson(pool: SqlPool, name: string): Promise<boolean>;

/** Newest first. */
export declare function listApprovals(pool: SqlPool, filter: ApprovalFilter): Promise<readonly DeletionRequest[]>;

/** Newest first. */
export declare function listAudit(pool: SqlPool, filter: AuditFilter): Promise<readonly AuditRow[]>;

/** The brokers that processes of this database have met. */
export declare function listBrokers(pool: SqlPool): Promise<readonly KnownBroker[]>;

/** The newest first. */
export declare function listCampaigns(client: SqlClient, wanted: CampaignFilter): Promise<readonly Campaign[]>;

/** In order of their ids, with the total count. */
export declare function listClosed(pool: SqlPool, filter: ClosedFilter): Promise<{
    readonly total: number;
    readonly rows: readonly ClosedRow[];
}>;

/** The brokers that messages of the outbox go to. */
export declare function listDestinations(pool: SqlPool): Promise<readonly KnownDestination[]>;

/** The filters of the person who acts, by name. */
export declare function listFilters(pool: SqlPool): Promise<readonly SavedFilter[]>;

/** Oldest first. */
export declare function listFixes(pool: SqlPool, heldId: string): Promise<readonly RecordedFix[]>;

/** The oldest first. */
export declare function listHeld(pool: SqlPool, filter: HeldFilter): Promise<readonly HeldWork[]>;

/** External effects that match a filter; oldest first. */
export declare function listLedger(pool: SqlPool, filter?: LedgerFilter): Promise<readonly LedgerEntry[]>;

/** In order of their ids. Every page costs the same, regardless of how many messages are parked. */
export declare function listParked(pool: SqlPool, filter: ParkedFilter): Promise<readonly ParkedRow[]>;

/** The processes that read the source of a consumer. */
export declare function listReaders(pool: SqlPool): Promise<readonly KnownReader[]>;

/** Newest first. */
export declare function listRedrives(pool: SqlPool, filter: RedriveFilter): Promise<readonly RedriveSummary[]>;

/** Messages that block the most others come first. */
export declare function listStuck(pool: SqlPool, limit?: number): Promise<readonly StuckMessage[]>;

/**
 * Records another fix (a row, a setting, a deployment). The message is unchanged and may be redriven.
 */
export declare function noteStateFixed(pool: SqlPool, { id, consumer, because }: {
    readonly id: string;
    readonly consumer: string;
    readonly because: string;
}): Promise<void>;

/** The environment is compared on every connection. */
export declare function openGuardedPool(url: string, max?: number): OwnPool;

/** Rows as CSV (RFC 4180), with a header and without payloads. */
export declare function parkedCsv(rows: readonly ParkedRow[]): string;

/** Every state of a message that needs attention. */
export declare const parkedStates: readonly ParkedState[];

/** Asks the running process, which finishes its open transactions first. */
export declare function pauseCampaign(pool: SqlPool, id: string, because: string): Promise<Campaign>;

/** The cost depends on the selected rows only. */
export declare function previewParked(pool: SqlPool, filter: ParkedFilter): Promise<ParkedPreview>;

/**
 * Sets parked messages aside, so that acts on parked messages leave them out. Their keys stay blocked. They
 * can still be redriven, skipped or deleted.
 */
export declare function quarantineParked(pool: SqlPool, { consumer, ids, digest, because }: Selected): Promise<{
    readonly quarantined: number;
}>;

/**
 * Moves the redrive step by step. After each step it waits until every moved message has an outcome. When the
 * share of messages that are parked again exceeds the limit, it stops the redrive with that reason. An
 * operator can continue the redrive under the same name: the share then counts from that moment.
 */
export declare function rampRedrive(pool: SqlPool, requestId: string, ramp: Ramp, env: RampEnvironment): Promise<RampResult>;

/** The whole body as it is now. */
export declare function readBody(pool: SqlPool, id: string): Promise<Buffer>;

/** Open and recent pauses of event types. */
export declare function readBrakes(pool: SqlPool): Promise<readonly BrakeRow[]>;

/** One campaign with its state. */
export declare function readCampaign(client: SqlClient, id: string): Promise<Campaign>;

/** The login of this session, and whether it is the console's or a person's. */
export declare function readConsoleLogin(pool: SqlPool): Promise<ConsoleLogin>;

/** The newest runs, and the keys that are blocked longest. */
export declare function readConsumerDetail(pool: SqlPool, consumer: string, countMax: {
    readonly runs: number;
    readonly blockedKeys: number;
}): Promise<ConsumerDetail>;

/** Declared losses: ranges that a source no longer has. */
export declare function readLosses(pool: SqlPool): Promise<readonly DeclaredLoss[]>;

/** How far a campaign is. */
export declare function readProgress(client: SqlClient, id: string): Promise<CampaignProgress>;

/** Rates of the last hour, and what waits at the sources, from what the processes wrote. */
export declare function readRates(pool: SqlPool): Promise<FlowHour & {
    readonly lag: readonly SourceLag[];
}>;

/**
 * Changes nothing, except that it records an incarnation that no process has detected yet, so that an
 * operator can accept it.
 */
export declare function readRestore(pool: SqlPool): Promise<RestoreView>;

/** The state of every consumer, queue, outbox and relay of the database. */
export declare function readStatus(pool: SqlPool): Promise<Status>;

/** What needs a person, over all consumers. */
export declare function readTrouble(pool: SqlPool): Promise<ConsumerTrouble>;

/** Records the real outcome: `completed`, or `failed`, which did not happen and may be tried again. */
export declare function reconcileEffect(pool: SqlPool, request: LedgerRequest, finding: EffectResolution): Promise<LedgerDetail>;

/** Writes the refusal to the audit. A login that is not a console writes none. */
export declare function recordRefusal(pool: SqlPool, { action, consumer, subject, why }: RefusedAct): Promise<void>;

/** Ends the pause of an event type. For an hour its cause pauses the type no more. */
export declare function releaseBrake(pool: SqlPool, { consumer, type, because }: BrakeRelease): Promise<void>;

/**
 * Makes work due now. It ends a lease and fences its worker, or cuts a wait or a delay short. A parked
 * message is tried once more, together with everything of its key, in order, as far as order allows.
 * Quarantined work stays, and only its key is unblocked. The database records who and why in the same
 * transaction; refusals are in the audit too.
 */
export declare function releaseHeld(pool: SqlPool, { id, consumer, because, leases }: Release): Promise<{
    readonly released: number;
    readonly from: string;
}>;

/** Removes a saved filter of the console. */
export declare function removeFilter(pool: SqlPool, name: string): Promise<{
    readonly removed: boolean;
}>;

/** Moves everything recorded under a name to another name. None of the consumer's processes may run. */
export declare function renameConsumer(pool: SqlPool, from: string, to: string, because: string): Promise<{
    readonly ledgerRows: number;
}>;

/** The page as Markdown. Text from a contract is escaped. */
export declare function renderPage(page: ContractPage): string;

/** Markdown: what the alert means, the steps in order, and when it is resolved. */
export declare function renderRunbook(runbook: Runbook, declared: Declared): string;

/** Requests approval by a second person. The request covers exactly these rows in their current state. */
export declare function requestDeletion(pool: SqlPool, { consumer, ids, digest, because }: Selected, lastsSeconds: number): Promise<DeletionRequest>;

/**
 * Removes a destination that no relay is connected to. Its waiting messages move to `to`, a destination of
 * the same kind.
 */
export declare function retireDestination(pool: SqlPool, name: string, to: string | null, because: string): Promise<{
    readonly moved: number;
}>;

/**
 * Makes the effect due now, with as many attempts as the target allows. An effect with an unknown outcome
 * keeps it, so the target's policy still decides: an at-most-once effect, or one whose idempotency key has
 * expired, is not sent but set aside again.
 */
export declare function retryEffect(pool: SqlPool, request: LedgerRequest): Promise<LedgerDetail>;

/**
 * Releases the selection to the workers, stage by stage, until no rows are left or an operator stops it.
 * After a crash it continues when called again; concurrent calls take turns. Each row is judged in the
 * transaction that moves it.
 */
export declare function runRedrive(pool: SqlPool, requestId: string, env: RedriveEnvironment): Promise<RedriveStage>;

/** The runbook of an alert or of that name; without a name, all that apply to this consumer. */
export declare function runbooksFor(consumer: Consumer, wanted?: string): readonly Runbook[];

/** Replaces the filter of this name. A person has at most 50. */
export declare function saveFilter(pool: SqlPool, name: string, query: string): Promise<void>;

/**
 * One page of messages whose payload has the texts of the filter and all of these members. It looks at
 * windows of rows, and stops when the time is over or the signal is aborted, which cancels the running
 * statement.
 */
export declare function searchPayload(pool: SqlPool, filter: ParkedFilter, members: readonly PayloadMember[], { timeoutMs, nowMs, signal }: SearchLimits): Promise<SearchResult>;

/** Allows a consumer with its own markers to read the source of another one. */
export declare function separateConsumer(pool: SqlPool, name: string, from: string, because: string): Promise<void>;

/** One order key as an object: whether it is blocked, and its messages in order. */
export declare function showKey(pool: SqlPool, consumer: string, key: string, countMax?: number): Promise<KeyView>;

/** One external effect with its attempts and acts. */
export declare function showLedger(pool: SqlPool, id: string): Promise<LedgerDetail>;

/** One message that needs attention, with its history. */
export declare function showParked(pool: SqlPool, id: string): Promise<ParkedDetails>;

/** A redrive with its counts. */
export declare function showRedrive(pool: SqlPool, requestId: string, countMax: number): Promise<RedriveReport>;

/**
 * Skips messages for a reason. Their bytes are kept, a redelivered copy is a duplicate, and messages behind
 * them continue.
 */
export declare function skipParked(pool: SqlPool, { consumer, ids, digest, because }: Selected, options?: ActOptions): Promise<{
    readonly closed: number;
    readonly freed: number;
}>;

/** Records the exact rows to move. Nothing moves yet. */
export declare function startRedrive(pool: SqlPool, { requestId, consumer, ids, digest, perSecond, because }: RedriveRequest, reach?: Reach): Promise<{
    readonly known: boolean;
}>;

/** Stops a redrive. Messages that it has released stay released. Audited. */
export declare function stopRedrive(pool: SqlPool, requestId: string, because: string): Promise<void>;

/**
 * Reads the whole chain and computes every hash in this process, without trusting functions of the database.
 * `expected`: the head of an earlier verification, which must be among the hashes.
 */
export declare function verifyAudit(pool: SqlPool, expected?: string): Promise<AuditVerdict>;

/**
 * Checks that every range was read to its end, and counts the outcomes. An operator reviews the findings
 * before finishing.
 */
export declare function verifyCampaign(pool: SqlPool, id: string): Promise<Verification>;
