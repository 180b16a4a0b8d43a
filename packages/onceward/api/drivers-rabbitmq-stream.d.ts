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

/** A RabbitMQ stream or super stream as named by a contract: plain data, created by `stream(...)`. */
export interface StreamDeclaration {
    readonly kind: 'rabbitmq-stream';
    readonly stream: string;
    readonly url?: string;
    readonly tls?: BrokerTls;
    readonly superStream?: boolean;
    readonly group?: string;
    readonly start?: StreamStart;
    readonly singleActive?: boolean;
    readonly [option: string]: unknown;
}

/** Options of `stream(...)`. */
export type StreamOptions = Partial<Pick<StreamDeclaration, 'url' | 'tls' | 'superStream' | 'group' | 'start' | 'singleActive'>>;

/** Where and how a source connects to the stream port. */
export interface StreamSourceOptions {
    readonly url?: string;
    readonly keptBytesMax?: number;
    readonly signal?: AbortSignal;
}

/**
 * The first available record, the newest chunk, only new records, an offset, or the first chunk at or after a
 * time.
 */
export type StreamStart = 'first' | 'last' | 'next' | number
 | {
    readonly timestamp: string | number;
};

/** A RabbitMQ stream or super stream as a source. It connects in `open`. */
export declare function createStreamSource(declaration: StreamDeclaration, options?: StreamSourceOptions): Source;

/** Names the stream a consumer reads. Opens nothing. */
export declare function stream(name: string, options?: StreamOptions): StreamDeclaration;
