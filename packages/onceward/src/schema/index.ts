/** Codecs and encoders by a schema registry. */
export { type AvroCodecOptions, avroCodec } from './avro/avro-codec.ts'
export { type AvroEncoderOptions, avroEncoder } from './avro/avro-encoder.ts'
export type { AvroTypeOptions } from './avro/load-avsc.ts'
export type { RegistryEncoderOptions } from './encode/registry-encoder.ts'
export type { Registration, SchemaIdsOptions } from './encode/schema-ids.ts'
export { type JsonSchemaCodecOptions, jsonSchemaCodec } from './json/json-schema-codec.ts'
export { type JsonSchemaEncoderOptions, jsonSchemaEncoder } from './json/json-schema-encoder.ts'
export { type ProtobufCodecOptions, protobufCodec } from './protobuf/protobuf-codec.ts'
export { type ProtobufEncoderOptions, protobufEncoder } from './protobuf/protobuf-encoder.ts'
export type { ReferencedSchema, RegisteredSchema, SchemaType } from './registered-schema.ts'
export { type ApicurioAccess, apicurioRegistry } from './registry/apicurio-registry.ts'
export { confluentRegistry } from './registry/confluent-registry.ts'
export type { BasicAuth, BearerAuth, RegistryAccess } from './registry/http-client.ts'
export type { RegistryCodecOptions } from './registry-codec.ts'
export type { SchemaRef } from './schema-ref.ts'
export type { SchemaIds, SchemaRegistry, SchemaSource, SchemaVersion } from './schema-source.ts'
export type { SubjectChoice } from './subject.ts'
export { type ApicurioOptions, apicurioWire } from './wire/apicurio.ts'
export { confluentHeaderWire, confluentWire } from './wire/confluent.ts'
export { glueWire } from './wire/glue.ts'
export type {
  Framed,
  FrameOptions,
  FrameRequest,
  WireFormat,
  WritableFormat,
  WrittenFrame,
} from './wire/wire-format.ts'
