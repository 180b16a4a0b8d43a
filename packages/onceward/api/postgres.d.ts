/** An open transaction of an adapter: its handle for handlers, and statements beside it. */
export interface OpenTransaction<Tx> {
    query(text: string, values?: readonly unknown[]): Promise<SqlResult>;
    handle(statements: WatchedStatements): Tx;
}

/** The store on PostgreSQL, through `pg`. */
export interface PostgresStore extends Store<SqlTransaction> {
    readonly pool: SqlPool;
    close(): Promise<void>;
}

/** How the store uses its pool. */
export interface PostgresStoreOptions extends TransactionOptions {
    readonly url?: string;
    readonly pool?: SqlPool;
}

/**
 * What a database library must provide so that a store can work in its transactions. `Tx` is the handle of
 * the library, which handlers get as `tx`. Texts use `$1`, `$2`; arrays and buffers are ordinary values.
 */
export interface SqlPort<Tx> {
    readonly dialect: 'postgres';
    readonly hearsReplication?: boolean;
    query(text: string, values?: readonly unknown[]): Promise<SqlResult>;
    transaction<T>(isolation: Isolation, work: (open: OpenTransaction<Tx>) => Promise<T>): Promise<T>;
}

/** Options for the transactions of a PostgreSQL store, in any library. */
export interface TransactionOptions {
    readonly lockTimeoutMs?: number;
    readonly isolation?: Isolation;
    readonly environment?: string;
    readonly prepare?: Prepare;
    readonly log?: Log;
    readonly incarnation?: ServerIncarnation;
}

/** How an adapter shows each statement of a handler before it is sent. */
export interface WatchedStatements {
    watch<T>(text: string, send: () => Promise<T>, close?: () => unknown): Promise<T>;
    leave<T>(text: string, send: () => Promise<T>): Promise<T>;
    refuseControl(what: string): Promise<never>;
}

/**
 * A pool in pipeline mode: statements of concurrent handlers are sent without waiting for earlier answers (35
 * k/s against 7.5 k/s one after the other). Statements are unnamed, so PgBouncer in transaction mode works.
 */
export declare function createPool(url: string, options?: PoolOptions): OwnPool;

/**
 * A store that works in the transactions of another library: markers and writes of the handler commit or roll
 * back together.
 */
export declare function createPortStore<Tx>(port: SqlPort<Tx>, options?: TransactionOptions): Store<Tx>;

/** A source that reads a PostgreSQL queue. */
export declare function createPostgresSource(declaration: PostgresQueue, options: PostgresSourceOptions): QueueSource;

/** A store in the transactions of a `pg` pool. */
export declare function createPostgresStore(options: PostgresStoreOptions): PostgresStore;

/** Creates the queue unless it exists. */
export declare function createQueue(pool: Queryable, name: string): Promise<void>;

/**
 * Wakes waiting subscriptions before their next poll. Call it after your commit, never inside your
 * transaction: at commit NOTIFY takes a server-wide lock, one transaction at a time.
 */
export declare function hint(pool: Queryable, queueName: string): Promise<void>;

/** Brings the schema to this version. */
export declare function migrate(pool: SqlPool, options?: MigrateOptions): Promise<MigrationResult>;

/** The PostgreSQL queue that a consumer reads, as the `source` of its contract. */
export declare function postgresQueue(name: string, options?: PostgresQueueOptions): PostgresQueue;

/**
 * Adds messages to a queue inside the transaction of the caller: they exist if and when it commits. Within
 * one call and one transaction ids follow the given order.
 */
export declare function publish(tx: PublishTransaction, queueName: string, messages: readonly PostgresMessage[]): Promise<void>;

/**
 * Unsettled messages, and how many of them are leased now. Counts rows: for operators and tests, not for
 * loops.
 */
export declare function queueDepth(pool: Queryable, name: string): Promise<{
    readonly messages: number;
    readonly leased: number;
}>;

/**
 * Listens for the warning of a COMMIT whose wait for the synchronous standby was cancelled. The returned
 * function throws if a warning arrived on this connection meanwhile: that commit is on this server and
 * perhaps on no other, and a failover would lose it. It is reported as a commit without an answer, so nothing
 * is settled until the batch has run again, which waits for `proveReplicated`.
 */
export declare function watchReplication(client: object): () => void;
