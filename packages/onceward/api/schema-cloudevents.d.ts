/** An event in the form of CloudEvents 1.0. Extensions are members beside the attributes. */
export interface CloudEvent<T = unknown> {
    readonly specversion: '1.0';
    readonly id: string;
    readonly source: string;
    readonly type: string;
    readonly subject?: string;
    readonly time?: string;
    readonly datacontenttype?: string;
    readonly dataschema?: string;
    readonly data?: T;
    readonly [extension: string]: unknown;
}

/**
 * An event to publish. `id` is the message id, and `type` that of the request, unless they are given. `time`
 * is never made up: a repeat of the message must have the same bytes.
 */
export type CloudEventBody = Partial<CloudEvent>;

/** A request or answer with an event. */
export interface CloudEventHttp {
    readonly headers: Readonly<Record<string, string>>;
    readonly body: Uint8Array;
}

/** How a CloudEvent travels: in headers, or as a whole in the body. */
export type CloudEventMode = 'binary' | 'structured';

/** Options of the codec for CloudEvents. */
export interface CloudEventsCodecOptions {
    readonly data?: Codec;
}

/** Options of the encoder for CloudEvents. */
export interface CloudEventsEncoderOptions {
    readonly source: string;
    readonly mode?: CloudEventMode;
    readonly data?: MessageEncoder;
}

/** The event of a request. Rejects with a TypeError or RangeError for what is none, or exceeds a limit. */
export declare function cloudEventFromHttp(headers: Readonly<Record<string, string | readonly string[] | undefined>>, body: Uint8Array, options?: CloudEventsCodecOptions & {
    readonly limits?: Partial<Limits>;
}): Promise<CloudEvent>;

/**
 * The identity of an event: producers must not repeat an id under one source. A source has no space, so the
 * first one separates both.
 */
export declare function cloudEventId({ source, id }: Pick<CloudEvent, 'source' | 'id'>): string;

/** The identities of an event, for `identity` of a contract. Add what else the contract needs. */
export declare const cloudEventIdentity: {
    readonly id: (event: CloudEvent) => string;
    readonly type: (event: CloudEvent) => string;
    readonly producer: (event: CloudEvent) => string;
};

/** Headers and body of a request that sends the event. */
export declare function cloudEventToHttp(event: CloudEvent, mode?: CloudEventMode): CloudEventHttp;

/**
 * Reads CloudEvents 1.0 in structured and binary mode: headers of Kafka, AMQP and HTTP, and of queues in
 * PostgreSQL. A message that is not an event is undecodable.
 */
export declare function cloudEventsCodec({ data }?: CloudEventsCodecOptions): Codec;

/** Publishes each body as a CloudEvent. */
export declare function cloudEventsEncoder({ source, mode, data, }: CloudEventsEncoderOptions): MessageEncoder;
