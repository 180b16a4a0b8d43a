/** Where an Apicurio registry is, and how it is asked. */
export interface ApicurioAccess extends RegistryAccess {
    readonly type?: SchemaType;
}

/** The number in the payload: 8 bytes of a global id in Apicurio 2, 4 bytes of a content id in Apicurio 3. */
export interface ApicurioOptions {
    readonly idBytes?: 4 | 8;
    readonly id?: 'globalId' | 'contentId';
}

/** Options of `avroCodec(...)`. */
export interface AvroCodecOptions extends RegistryCodecOptions, AvroTypeOptions {
    readonly reader?: string | object;
}

/** Options of an Avro encoder. */
export interface AvroEncoderOptions extends RegistryEncoderOptions, AvroTypeOptions {
    readonly schema: string | object;
}

/** How Avro values become values of JavaScript. */
export interface AvroTypeOptions {
    readonly longs?: 'number' | 'bigint';
    readonly logicalTypes?: Readonly<Record<string, new (schema: never, options?: never) => unknown>>;
}

/** A login, sent as HTTP Basic. */
export interface BasicAuth {
    readonly username: string;
    readonly password: string;
}

/** A token, or a function that gives the current one before each request. */
export interface BearerAuth {
    readonly token: string | (() => string | Promise<string>);
}

/** What the format needs to know of the payload. */
export interface FrameOptions {
    readonly protobuf: boolean;
    readonly bytesMax: number;
}

/** What a frame is asked to carry. */
export interface FrameRequest {
    readonly ids: SchemaIds;
    readonly payload: Uint8Array;
    readonly indexes: readonly number[] | null;
}

/** Bytes apart from the reference to their schema. */
export interface Framed {
    readonly ref: SchemaRef;
    readonly payload: Buffer;
    readonly indexes: readonly number[] | null;
    readonly messageName?: string;
}

/** Options of a codec for JSON with a registered schema. */
export interface JsonSchemaCodecOptions extends RegistryCodecOptions {
    readonly reader?: string | object;
    readonly validate?: boolean;
}

/** Options of an encoder for JSON with a registered schema. */
export interface JsonSchemaEncoderOptions extends RegistryEncoderOptions {
    readonly schema: string | object;
}

/** Options of a Protobuf codec. */
export interface ProtobufCodecOptions extends RegistryCodecOptions {
    readonly messages: readonly DescMessage[];
}

/** Options of a Protobuf encoder. */
export interface ProtobufEncoderOptions extends RegistryEncoderOptions {
    readonly message: DescMessage;
    readonly schema: string;
}

/** A schema that another one refers to. */
export interface ReferencedSchema {
    readonly name: string;
    readonly text: string;
}

/** A schema as a registry keeps it. It never changes under its id. */
export interface RegisteredSchema {
    readonly type: SchemaType;
    readonly text: string;
    readonly references: readonly ReferencedSchema[];
}

/**
 * What a producer may do at the registry. `lookup`: the schema must be among the versions of its subject.
 * `register`: it is added if it is new. An id: the registry is not queried.
 */
export type Registration = 'lookup' | 'register' | SchemaIds;

/** How a registry is reached. */
export interface RegistryAccess {
    readonly url: string;
    readonly auth?: BasicAuth | BearerAuth;
    readonly tls?: BrokerTls;
    readonly timeoutMs?: number;
    readonly bytesMax?: number;
    readonly headers?: Readonly<Record<string, string>>;
}

/** The options of every codec that reads by a registry. */
export interface RegistryCodecOptions extends Omit<SchemaCacheOptions, 'source' | 'folder' | 'nowMs'> {
    readonly registry: SchemaSource;
    readonly wire?: WireFormat;
    readonly cacheFolder?: string;
    readonly subject?: SubjectChoice;
}

/** The options of every encoder that writes by a registry. */
export interface RegistryEncoderOptions extends SchemaIdsOptions {
    readonly wire?: WritableFormat;
    readonly subject?: SubjectChoice;
}

/** The ids of schemas, as a registry gives them. */
export interface SchemaIds {
    readonly id: number;
    readonly guid: string | null;
}

/** Where ids of schemas are looked up and cached. */
export interface SchemaIdsOptions {
    readonly registry: SchemaRegistry;
    readonly registration: Registration;
    readonly cacheFolder?: string | undefined;
    readonly timeoutMs?: number | undefined;
}

/**
 * How a message names the schema it was written with. `id`: the number of a Confluent registry. `guid`: the
 * identifier of Confluent's headers and of AWS Glue. `globalId`, `contentId`: the two numbers of Apicurio.
 */
export type SchemaRef = {
    readonly kind: 'id';
    readonly id: number;
} | {
    readonly kind: 'guid';
    readonly guid: string;
} | {
    readonly kind: 'globalId' | 'contentId';
    readonly id: bigint;
};

/** A schema source with subjects: for producers and for the compatibility gate. */
export interface SchemaRegistry extends SchemaSource {
    versions(subject: string, signal: AbortSignal): Promise<readonly SchemaVersion[]>;
    lookup(subject: string, schema: RegisteredSchema, signal: AbortSignal): Promise<SchemaIds | null>;
    register(subject: string, schema: RegisteredSchema, signal: AbortSignal): Promise<SchemaIds>;
    refusals(subject: string, schema: RegisteredSchema, signal: AbortSignal): Promise<readonly string[]>;
}

/** Where codecs get the schemas that messages name. Implement it for a registry that is not built in. */
export interface SchemaSource {
    readonly name: string;
    find(ref: SchemaRef, signal: AbortSignal): Promise<RegisteredSchema | null>;
    answers?(signal: AbortSignal): Promise<boolean>;
}

/** The language of a schema. */
export type SchemaType = (typeof schemaTypes)[number];

/** A version of a subject, with its schema. */
export interface SchemaVersion {
    readonly version: number;
    readonly schema: RegisteredSchema;
}

/**
 * How a subject is named. `topic`: `payments-value`. `record`: the full name of the record, such as
 * `shop.Payment`. `topic-record`: both, `payments-shop.Payment`. Or the name itself.
 */
export type SubjectChoice = 'topic' | 'record' | 'topic-record' | {
    readonly name: string;
};

/** Where a message has the reference to its schema. Reading throws a RangeError on bytes of another form. */
export interface WireFormat {
    readonly name: string;
    read(body: Buffer, delivery: Pick<DeliveryFacts, 'headers'>, options: FrameOptions): Framed;
}

/** A format in which messages are also sent. */
export interface WritableFormat extends WireFormat {
    write(request: FrameRequest): WrittenFrame;
}

/** Bytes as they are sent, with their schema. */
export interface WrittenFrame {
    readonly body: Buffer;
    readonly headers: Readonly<Record<string, Uint8Array>>;
}

/**
 * Apicurio's own interface, version 3, for messages with its global and content ids. The address ends before
 * `/apis`. Producers and the compatibility gate use its Confluent interface by `confluentRegistry`.
 */
export declare function apicurioRegistry({ type, ...access }: ApicurioAccess): SchemaSource;

/**
 * Apicurio's format. In the payload: a zero byte and the id in 4 or 8 bytes; Protobuf has the name of the
 * message behind it, as a message of its own. In headers: the id in 8 bytes and the name, and the payload is
 * only the message.
 */
export declare function apicurioWire(options?: ApicurioOptions): WireFormat;

/** Reads Avro by the writer's schema from a registry. Uses the package `avsc`. */
export declare function avroCodec({ reader, longs, logicalTypes, ...options }: AvroCodecOptions): Codec;

/** Writes Avro by one schema. Uses the package `avsc`. */
export declare function avroEncoder({ schema, longs, logicalTypes, ...options }: AvroEncoderOptions): MessageEncoder;

/** The same format, written with the GUID in the header. */
export declare const confluentHeaderWire: WritableFormat;

/**
 * A registry with Confluent's REST interface: Confluent's own, Redpanda's, Karapace, and Apicurio's
 * `/apis/ccompat/v7`.
 */
export declare function confluentRegistry(access: RegistryAccess): SchemaRegistry;

/**
 * Confluent's format. In the payload: a zero byte and the id in 4 bytes. In the header `__value_schema_id`: a
 * one and the GUID, and the payload is only the message. Protobuf has the place of the message in its file
 * behind id or GUID. A message with the header is read by its header.
 */
export declare const confluentWire: WritableFormat;

/** AWS Glue: byte 3, a byte for the compression (0 none, 5 zlib), the UUID of the schema's version. */
export declare const glueWire: WireFormat;

/** Reads JSON with a schema in a registry. Uses the package `ajv`. */
export declare function jsonSchemaCodec({ reader, validate, ...options }: JsonSchemaCodecOptions): Codec;

/** Writes JSON that is valid by one schema. Uses the package `ajv`. */
export declare function jsonSchemaEncoder({ schema, ...options }: JsonSchemaEncoderOptions): MessageEncoder;

/**
 * Reads Protobuf. The registry's schema says which of its messages the bytes are; the generated code reads
 * them by the numbers of their fields. Uses the package `@bufbuild/protobuf`.
 */
export declare function protobufCodec({ messages, ...options }: ProtobufCodecOptions): Codec;

/** Writes Protobuf messages of one type. Uses the package `@bufbuild/protobuf`. */
export declare function protobufEncoder({ message, schema, ...options }: ProtobufEncoderOptions): MessageEncoder;
