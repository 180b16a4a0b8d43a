export type { KafkaTransformInput, KafkaTransformOutput } from '../../ports/transform.ts'
export type { KafkaConnectionOptions, KafkaSasl, KafkaTls } from './client/connection-options.ts'
export { type CreateTopicOptions, ensureTopic } from './ensure-topic.ts'
export {
  createKafkaPublisher,
  type KafkaOutgoingMessage,
  type KafkaPublisher,
  type KafkaPublisherOptions,
  type KafkaPublishResult,
} from './kafka-publisher.ts'
export { createRetryTopicSource } from './retry-topic.ts'
export { createKafkaSource, type KafkaSourceOptions } from './source.ts'
export { type TopicDeclaration, type TopicOptions, type TopicStart, topic } from './topic.ts'
export {
  createKafkaTransform,
  type KafkaTransform,
  type KafkaTransformOptions,
  kafkaTransformPromise,
} from './transform.ts'
