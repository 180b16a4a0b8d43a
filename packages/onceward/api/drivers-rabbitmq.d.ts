/**
 * The authorities to trust and the client's certificate. Each of `ca`, `cert` and `key` is PEM, or the path
 * of a file that contains it.
 */
export interface BrokerTls {
    readonly ca?: string | Buffer;
    readonly cert?: string | Buffer;
    readonly key?: string | Buffer;
    readonly passphrase?: string;
    readonly servername?: string;
}

/** A queue by name, or an exchange with a routing key. */
export type OutgoingTarget = {
    readonly queue: string;
} | {
    readonly exchange: string;
    readonly routingKey: string;
};

/** `confirmed`, or the error of this message. */
export type PublishResult = 'confirmed' | OncewardError;

/** A RabbitMQ queue as named by a contract: plain data, created by `queue(...)`. */
export interface QueueDeclaration {
    readonly kind: 'rabbitmq';
    readonly queue: string;
    readonly url?: string;
    readonly cluster?: string;
    readonly tls?: BrokerTls;
    readonly type?: 'quorum' | 'classic';
    readonly declare?: 'declare' | 'verify';
    readonly singleActiveConsumer?: boolean;
    readonly deliveryLimit?: number | 'unlimited';
    readonly deadLetterExchange?: string;
    readonly deadLetterRoutingKey?: string;
    readonly deadLetterIngest?: string;
    readonly arguments?: Readonly<Record<string, string | number | boolean>>;
    readonly bind?: readonly {
        readonly exchange: string;
        readonly routingKey: string;
    }[];
    readonly managementUrl?: string;
    readonly [option: string]: unknown;
}

/** Options of `queue(...)`. */
export type QueueOptions = Partial<Pick<QueueDeclaration, 'url' | 'cluster' | 'tls' | 'type' | 'declare' | 'singleActiveConsumer' | 'deliveryLimit' | 'deadLetterExchange' | 'deadLetterRoutingKey' | 'deadLetterIngest' | 'arguments' | 'bind' | 'managementUrl'>>;

/** One message for RabbitMQ. */
export type RabbitOutgoingMessage = OutgoingTarget & {
    readonly messageId: string;
    readonly body: Buffer;
    readonly headers?: Readonly<Record<string, unknown>>;
    readonly properties?: DeliveryProperties;
};

/** Publishes to RabbitMQ with confirms. */
export interface RabbitPublisher {
    publish(messages: readonly RabbitOutgoingMessage[]): Promise<readonly PublishResult[]>;
    connect(): Promise<void>;
    close(): Promise<void>;
}

/** Where and how a publisher connects. */
export interface RabbitPublisherOptions {
    readonly url: string;
    readonly confirmTimeoutMs?: number;
    readonly log?: Log;
    readonly onBroker?: OnBroker | undefined;
}

/** Where and how a source connects to RabbitMQ. */
export interface RabbitSourceOptions {
    readonly url?: string;
    readonly log?: Log;
    readonly signal?: AbortSignal;
}

/**
 * Connects on the first publish, on a separate connection: an alarm that blocks publishers never blocks acks.
 */
export declare function createRabbitPublisher(options: RabbitPublisherOptions): RabbitPublisher;

/** A RabbitMQ queue as a source. It connects in `open`. */
export declare function createRabbitSource(declaration: QueueDeclaration, options?: RabbitSourceOptions): QueueSource;

/** Declares the queue for copies of dead letters, so that a mandatory publish to it is routable. */
export declare function ensureDeadLetterQueue(url: string, name: string, signal?: AbortSignal): Promise<void>;

/** Creates the levels, or fails when one exists with other arguments. */
export declare function ensureRetryLevels(url: string, queue: string, levelsMs: readonly number[], signal?: AbortSignal): Promise<void>;

/** Names the queue a consumer reads. Opens nothing. */
export declare function queue(name: string, options?: QueueOptions): QueueDeclaration;
