/**
 * Decide whether a COMMIT is durable and whether its warning arrives. Behind a pooler in transaction mode a
 * server connection keeps what another client has SET, so every transaction returns to the value that the
 * session began with: that of the role, the database or the server. A handler that sets its own later keeps
 * it. Rejected: a proof before COMMIT that refuses other values. It would stop work that can go on, and has
 * to know the values of the role, which change with a reload.
 */
const names = ['synchronous_commit', 'client_min_messages']

/** For a transaction's first statements. */
export const setRoleSettings = names.map(name => `set local ${name} to default`).join('; ')

/** An expression, for a statement that commits by itself. PostgreSQL takes null for the default. */
export const roleSettings = `(select concat(${names.map(name => `set_config('${name}', null, true)`)}))`
