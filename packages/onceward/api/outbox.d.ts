/**
 * A message from a producer that is not a consumer. Only the producer knows which messages are the same, so
 * it supplies the id.
 */
export interface OutboxMessage extends PublishRequest {
    id: string;
}

/** One message, as a handler or a producer publishes it. */
export interface PublishRequest {
    body: unknown;
    key?: string | null;
    id?: string;
    type?: string;
    contentType?: string;
    correlationId?: string;
    headers?: Readonly<Record<string, unknown>>;
}

/**
 * Where `effects.publish(name, …)` sends messages. `cdc`: a connector reads the row from the outbox table,
 * and the row is removed later.
 */
export type PublishTarget = PublishPlace & {
    readonly evidence?: boolean;
    readonly destination?: string;
    readonly encoder?: MessageEncoder;
};

/** Brokers that relays publish to; rows for `cdc` are only removed after a time. */
export type RelayedBroker = 'kafka' | 'rabbitmq' | 'postgres' | 'cdc';

/** Missing addresses and the environment are read from the same variables as on the command line. */
export interface RunRelayOptions extends PublisherAddresses, StartOptions {
    readonly databaseUrl: string;
    readonly brokers: readonly RelayedBroker[];
    readonly instance?: string;
    readonly relayLeaseMs?: number;
    readonly cdcKeepMs?: number;
    readonly environment?: string | undefined;
    readonly env?: Environment;
}

/** A running relay. */
export type RunningRelay = Omit<Running, 'consumer' | 'worker'>;

/**
 * Writes messages to the outbox inside your own transaction, in one statement. They are published only if the
 * transaction commits. They carry the current trace context, unless their headers name another. `tx` is any
 * object with `query(text, values)` on that transaction, such as a `pg` client after BEGIN. A relay must run:
 * `onceward relay`.
 */
export declare function publishInTransaction(tx: OutboxTransaction, target: PublishTarget, messages: readonly OutboxMessage[]): Promise<void>;

/**
 * A relay without a consumer, for producers that write into the outbox. Waits while the database is
 * unreachable. Rows of an unavailable broker wait; a broker that refuses the login ends the relay: `finished`
 * rejects. Rejects with one error when it starts nothing.
 */
export declare function runRelay(given: RunRelayOptions): Promise<RunningRelay>;
