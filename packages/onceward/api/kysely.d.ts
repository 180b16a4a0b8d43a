/** How the store uses Kysely. */
export interface KyselyStoreOptions extends TransactionOptions {
    readonly pool?: AcquiringPool;
}

/** A store on transactions of Kysely: handlers get a `Transaction<DB>`. */
export declare function createKyselyStore<DB>(db: Kysely<DB>, options?: KyselyStoreOptions): ClosableStore<Transaction<DB>>;
