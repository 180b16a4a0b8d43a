/** A store on transactions of Knex: handlers get a `Knex.Transaction`. */
export declare function createKnexStore(knex: Knex, options?: TransactionOptions): ClosableStore<Knex.Transaction>;
