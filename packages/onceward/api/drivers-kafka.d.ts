/** Partitions and settings of a new topic. */
export interface CreateTopicOptions {
    readonly partitions: number;
    readonly replicationFactor?: number;
    readonly configs?: Readonly<Record<string, string>>;
}

/** Address and credentials of a Kafka cluster. */
export interface KafkaConnectionOptions {
    readonly bootstrap: string;
    readonly clientId?: string;
    readonly tls?: boolean | KafkaTls;
    readonly sasl?: KafkaSasl;
    readonly requestTimeoutMs?: number;
    readonly connectTimeoutMs?: number;
}

/** One message for Kafka. */
export interface KafkaOutgoingMessage {
    readonly queue: string;
    readonly messageId: string;
    readonly key?: string | null;
    readonly headers?: Readonly<Record<string, unknown>>;
    readonly properties?: DeliveryProperties;
    readonly body: Buffer;
}

/** `confirmed`, or the error of this message. */
export type KafkaPublishResult = 'confirmed' | OncewardError;

/** Publishes to Kafka as an idempotent producer. */
export interface KafkaPublisher {
    publish(messages: readonly KafkaOutgoingMessage[]): Promise<readonly KafkaPublishResult[]>;
    connect(): Promise<void>;
    readLimits(topics: readonly string[]): Promise<ReadonlyMap<string, number | Error>>;
    close(): Promise<void>;
}

/** Where and how a publisher connects. */
export interface KafkaPublisherOptions extends KafkaConnectionOptions {
    readonly confirmTimeoutMs?: number;
    readonly compression?: ProducerOptions['compression'];
    readonly onBroker?: ((broker: BrokerIdentity) => Promise<void>) | undefined;
}

/** Functions are called at every connection and re-authentication, so their credentials may expire. */
export type KafkaSasl = {
    readonly mechanism: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512';
    readonly username: string;
    readonly password: string | (() => string | Promise<string>);
} | {
    readonly mechanism: 'OAUTHBEARER';
    readonly token: () => string | Promise<string>;
    readonly extensions?: Readonly<Record<string, string>>;
};

/** Where and how a source connects to Kafka. */
export interface KafkaSourceOptions {
    readonly bootstrap?: string;
    readonly log?: Log;
    readonly signal?: AbortSignal;
}

/** Certificates for connections to Kafka. See `docs/security.md`. */
export type KafkaTls = BrokerTls;

/** A transform that is driven by hand. `runTransform` drives one with retries and metrics. */
export interface KafkaTransform {
    start(): Promise<void>;
    drain(): Promise<void>;
    readonly finished: Promise<void>;
    readonly tally: {
        readonly records: number;
        readonly outputs: number;
        readonly transactions: number;
        readonly aborted: number;
    };
}

/** The input record of a Kafka transform. */
export interface KafkaTransformInput {
    readonly topic: string;
    readonly partition: number;
    readonly offset: number;
    readonly key: Buffer | null;
    readonly value: Buffer | null;
    readonly headers: Readonly<Record<string, Buffer | null>>;
    readonly timestampMs: number;
}

/** What a transform reads, writes and calls. */
export interface KafkaTransformOptions extends KafkaConnectionOptions, Pick<TopicOptions, 'protocol' | 'sessionTimeoutMs' | 'rebalanceTimeoutMs' | 'heartbeatMs'> {
    readonly from: string;
    readonly group: string;
    readonly start: NonNullable<TopicOptions['start']>;
    readonly instance?: string;
    readonly map: (record: KafkaTransformInput) => readonly KafkaTransformOutput[] | Promise<readonly KafkaTransformOutput[]>;
    readonly deadLetter?: string;
    readonly batchMax?: number;
    readonly transactionTimeoutMs?: number;
    readonly log?: Log;
}

/** An output record of a Kafka transform. */
export interface KafkaTransformOutput {
    readonly topic: string;
    readonly partition?: number;
    readonly key?: Buffer | string | null;
    readonly value: Buffer | string | null;
    readonly headers?: Readonly<Record<string, Buffer | string | null>>;
    readonly timestampMs?: number;
}

/** A Kafka topic as named by a contract: plain data, created by `topic(...)`. */
export interface TopicDeclaration {
    readonly kind: 'kafka';
    readonly topic: string;
    readonly bootstrap?: string;
    readonly cluster?: string;
    readonly group?: string;
    readonly instance?: string;
    readonly protocol?: 'classic' | 'consumer';
    readonly start?: TopicStart;
    readonly isolation?: 'committed' | 'uncommitted';
    readonly sessionTimeoutMs?: number;
    readonly rebalanceTimeoutMs?: number;
    readonly requestTimeoutMs?: number;
    readonly connectTimeoutMs?: number;
    readonly heartbeatMs?: number;
    readonly addedPartitionsWaitMs?: number;
    readonly tls?: boolean | KafkaTls;
    readonly sasl?: KafkaSasl;
    readonly [option: string]: unknown;
}

/** Options of `topic(...)`. */
export type TopicOptions = Partial<Pick<TopicDeclaration, 'bootstrap' | 'cluster' | 'group' | 'instance' | 'protocol' | 'start' | 'isolation' | 'sessionTimeoutMs' | 'rebalanceTimeoutMs' | 'requestTimeoutMs' | 'connectTimeoutMs' | 'heartbeatMs' | 'addedPartitionsWaitMs' | 'tls' | 'sasl'>>;

/** Where a group without a position begins. */
export type TopicStart = 'earliest' | 'latest' | {
    readonly timestampMs: number;
};

/** Connects on the first publish. */
export declare function createKafkaPublisher(options: KafkaPublisherOptions): KafkaPublisher;

/** A Kafka topic as a source. It connects in `open`. */
export declare function createKafkaSource(declaration: TopicDeclaration, options?: KafkaSourceOptions): Source;

/**
 * Reads a topic and writes the mapped records, exactly once for readers of committed records. See
 * `kafkaTransformPromise`. It has no failure policy and no metrics: those come with `defineTransform` and
 * `runTransform`.
 */
export declare function createKafkaTransform(options: KafkaTransformOptions): KafkaTransform;

/**
 * A delay level of a topic. A separate group reads it, so waiting records never delay the topic's members.
 * The group starts at the beginning, because every record was written for this consumer.
 */
export declare function createRetryTopicSource(declaration: TopicDeclaration, levelMs: number, options?: KafkaSourceOptions): Source;

/**
 * Ensures that a topic exists, so dead letters can be published. It is created only when `create` is given:
 * partitions and replicas determine a topic's capacity and whether it survives a broker, and Onceward cannot
 * guess either. An existing topic is left unchanged.
 */
export declare function ensureTopic(options: KafkaConnectionOptions, name: string, create?: CreateTopicOptions): Promise<void>;

/** The guarantee of a transform and its limits. */
export declare const kafkaTransformPromise = "Every input record's outputs and its consumed offset become visible in one Kafka transaction: a reader with isolation.level=read_committed sees each output exactly once, also when processes crash, freeze or lose partitions.\nIt covers Kafka only. Effects outside Kafka (a database, an HTTP call, a file) may be repeated, because the function runs again after a crash or a lost partition. Use a consumer with a store for such effects.\nIt covers one run of the group over the log: records written twice by their producer are two records. A group that was empty longer than the broker's offsets.retention.minutes loses its offsets and begins at `start` again.";

/** Names the topic a consumer reads. Opens nothing. */
export declare function topic(name: string, options?: TopicOptions): TopicDeclaration;
