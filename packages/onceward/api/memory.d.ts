/**
 * A partitioned log in this process, for unit tests, first steps and the simulator. Subscriptions of one
 * consumer share the partitions, and every open or close moves some; committed positions are kept per
 * consumer. Its records can expire, be compacted, cut off or forgotten, and the log can be created again, as
 * with real logs.
 */
export declare class MemoryLog implements Source {
    #private;
    readonly name: string;
    readonly capabilities: {
        order: {
            key: boolean;
            partition: boolean;
        };
        positions: boolean;
        deliveryCount: boolean;
        redelivers: boolean;
    };
    constructor({ partitions, name, timers }?: MemoryLogOptions);
    get partitions(): readonly string[];
    publish(...messages: readonly MemoryLogMessage[]): void;
    open(options: OpenOptions): Promise<Subscription>;
    committed(partition: string, { name, generation }: LogOptions['consumer']): number | null;
    countFrom(partition: string, offset: number): number;
    end(partition: string): number;
    disconnect(): void;
    expire(partition: string, before: number): void;
    compact(goes: (record: StoredRecord) => boolean): void;
    cutBack(partition: string, end: number): void;
    recreate(partitions?: number): void;
    forgetCommitted(): void;
}

/** One record of a log in memory. */
export interface MemoryLogMessage extends MemoryMessage {
    readonly partition?: number;
}

/** Options of a log in memory. */
export interface MemoryLogOptions {
    readonly partitions?: number;
    readonly name?: string;
    readonly timers?: Pick<Timers, 'after'>;
}

/** One message of a queue in memory. */
export interface MemoryMessage {
    readonly body: Buffer | string;
    readonly headers?: Readonly<Record<string, unknown>>;
    readonly properties?: DeliveryProperties;
    readonly key?: string | null;
}

/**
 * A queue in this process, for unit tests and first steps. Each message is delivered to one subscription. It
 * is redelivered with a higher count when that subscription ends without settling it.
 */
export declare class MemoryQueue implements Source {
    #private;
    readonly name = "memory queue";
    readonly capabilities: {
        order: {
            key: boolean;
            partition: boolean;
        };
        positions: boolean;
        deliveryCount: boolean;
        redelivers: boolean;
    };
    publish(...messages: readonly MemoryMessage[]): void;
    get unsettled(): number;
    open(options: {
        readonly inFlightMax: number;
    }): Promise<MemorySubscription>;
    disconnect(): void;
}

/**
 * The store port in this process's memory, for unit tests and first steps. Transactions run one after the
 * other on a copy that replaces the state at commit, so a rollback drops the copy.
 */
export declare class MemoryStore implements Store<MemoryTransaction> {
    #private;
    readonly capabilities: {
        durable: boolean;
        shared: boolean;
        sql: boolean;
        concurrent: boolean;
        businessKeys: boolean;
        keyOrder: boolean;
        outgoing: boolean;
    };
    readonly suspects: SuspectStore;
    readonly checkpoints: CheckpointStore;
    enroll(facts: Enrolment['facts']): Promise<Enrolment>;
    closeRun({ runId }: Enrolment, halted?: string): Promise<void>;
    ping(): Promise<void>;
    diagnose(): 'statement';
    transaction<T>(enrolment: Enrolment, work: (session: StoreSession<MemoryTransaction>) => Promise<T>): Promise<T>;
    get committed(): Readonly<MemoryState>;
}

/** A handler's `tx`: a map whose changes vanish with the transaction. */
export type MemoryTransaction = Map<string, unknown>;
