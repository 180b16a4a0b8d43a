export const initOrms = ['none', 'kysely', 'drizzle', 'knex'] as const
export type InitOrm = (typeof initOrms)[number]

/** How a consumer writes through a library. */
export interface OrmText {
  readonly imports: readonly string[]
  /** Above the consumer: the store that is exported. */
  readonly store: (table: string) => string
  /** The type of `tx`. */
  readonly transaction: string | null
  /** The statement that books a request. */
  readonly insert: (table: string) => string
  readonly dependencies: Readonly<Record<string, string>>
}

const pool = `const pool = new pg.Pool({ connectionString: process.env.ONCEWARD_DATABASE_URL, query_timeout: 60_000 })
pool.on('error', () => {}).on('connect', client => client.on('error', () => {}))
`
const row = '{ request_id: message.requestId, amount: message.amount }'

export const ormTexts: Readonly<Record<InitOrm, OrmText>> = {
  none: {
    imports: [],
    store: () => '',
    transaction: null,
    insert: table => `await tx.query('insert into ${table} (request_id, amount) values ($1, $2)', [
      message.requestId,
      message.amount,
    ])`,
    dependencies: {},
  },
  kysely: {
    imports: [
      "import { Kysely, PostgresDialect, type Transaction } from 'kysely'",
      "import { createKyselyStore } from 'onceward/kysely'",
      "import pg from 'pg'",
    ],
    store: table => `type Tables = { ${table}: { request_id: string; amount: number } }

${pool}/** Handlers run in its transactions. */
export const store = createKyselyStore(new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) }), { pool })
`,
    transaction: 'Transaction<Tables>',
    insert: table => `await tx.insertInto('${table}').values(${row}).execute()`,
    dependencies: { kysely: '^0.29.0', pg: '^8.23.1' },
  },
  drizzle: {
    imports: [
      "import { drizzle } from 'drizzle-orm/node-postgres'",
      "import { bigint, pgTable, text } from 'drizzle-orm/pg-core'",
      "import { createDrizzleStore, type DrizzleTransaction } from 'onceward/drizzle'",
      "import pg from 'pg'",
    ],
    store: table => `const booked = pgTable('${table}', {
  request_id: text().primaryKey(),
  amount: bigint({ mode: 'number' }).notNull(),
})
const schema = { booked }

${pool}/** Handlers run in its transactions. */
export const store = createDrizzleStore(drizzle({ client: pool, schema }))
`,
    transaction: 'DrizzleTransaction<typeof schema>',
    insert: () => `await tx.insert(booked).values(${row})`,
    dependencies: { 'drizzle-orm': '^0.45.0', pg: '^8.23.1' },
  },
  knex: {
    imports: [
      "import createKnex, { type Knex } from 'knex'",
      "import { createKnexStore } from 'onceward/knex'",
    ],
    store:
      () => `const connection = { connectionString: process.env.ONCEWARD_DATABASE_URL!, query_timeout: 60_000 }
/** Handlers run in its transactions. */
export const store = createKnexStore(createKnex({ client: 'pg', connection, compileSqlOnError: false }))
`,
    transaction: 'Knex.Transaction',
    insert: table => `await tx('${table}').insert(${row})`,
    dependencies: { knex: '^3.0.0', pg: '^8.23.1' },
  },
}
