/** CloudEvents 1.0 on Kafka, AMQP, HTTP and PostgreSQL. */
export { type CloudEvent, cloudEventId, cloudEventIdentity } from './cloud-event.ts'
export { type CloudEventsCodecOptions, cloudEventsCodec } from './cloud-events-codec.ts'
export {
  type CloudEventBody,
  type CloudEventsEncoderOptions,
  cloudEventsEncoder,
} from './cloud-events-encoder.ts'
export { type CloudEventHttp, cloudEventFromHttp, cloudEventToHttp } from './http.ts'
export type { CloudEventMode } from './write-cloud-event.ts'
