/**
 * These settings decide whether a COMMIT is durable and whether its warning arrives. Behind a pooler in
 * transaction mode a server connection keeps the SET of another client, so every transaction returns to the
 * initial value of the session: that of the role, the database or the server. A handler that sets its own
 * value later keeps it. Rejected: a check before COMMIT that refuses other values. It would stop work that
 * can continue, and has to know the values of the role, which change with a reload.
 */
const names = ['synchronous_commit', 'client_min_messages']

/** For the first statements of a transaction. */
export const setRoleSettings = names.map(name => `set local ${name} to default`).join('; ')

/** An expression, for a statement with implicit commit. PostgreSQL treats null as the default. */
export const roleSettings = `(select concat(${names.map(name => `set_config('${name}', null, true)`)}))`
