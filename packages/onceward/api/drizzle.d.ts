/** The callback parameter of `db.transaction`. */
export type DrizzleTransaction<S extends Schema> = Parameters<Parameters<NodePgDatabase<S>['transaction']>[0]>[0];

/**
 * A store on the pool of Drizzle: handlers get a transaction of Drizzle. The store sends BEGIN and COMMIT:
 * Drizzle 0.45 never releases a client whose BEGIN failed, and reports the failure of a ROLLBACK instead of
 * its cause.
 */
export declare function createDrizzleStore<S extends Schema>(db: NodePgDatabase<S> & {
    readonly $client: unknown;
}, options?: TransactionOptions): ClosableStore<DrizzleTransaction<S>>;
