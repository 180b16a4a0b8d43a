/**
 * All imports from `@platformatic/kafka`: encoders and decoders of requests, connections, checksums,
 * compression, error names. No other file of the library imports it. Groups, fetches, offsets and
 * transactions are implemented here.
 *
 * The client library is an optional peer dependency, needed only to read Kafka. Within its major version
 * every name below must exist and encode the same bytes. `test/kafka/versions/client-versions.test.ts`
 * compares the oldest and the newest version of the range with the installed one.
 */
export {
  type API,
  addOffsetsToTxnV4,
  addPartitionsToTxnV3,
  apiVersionsV0,
  apiVersionsV4,
  type Connection,
  type ConnectionOptions,
  ConnectionPool,
  compressionsAlgorithms,
  compressionsAlgorithmsByBitmask,
  consumerGroupHeartbeatV1,
  crc32c,
  createAPI,
  createTopicsV7,
  decodeConsumerProtocolAssignment,
  decodeConsumerProtocolSubscription,
  describeConfigsV4,
  describeProducersV0,
  encodeConsumerProtocolAssignment,
  encodeConsumerProtocolSubscription,
  endTxnV4,
  fetchV17,
  findCoordinatorV6,
  heartbeatV4,
  initProducerIdV5,
  joinGroupV9,
  leaveGroupV5,
  listOffsetsV9,
  metadataV12,
  offsetCommitV9,
  offsetFetchV9,
  offsetForLeaderEpochV4,
  produceV11,
  protocolErrors,
  protocolErrorsCodesById,
  type Reader,
  ResponseError,
  syncGroupV5,
  txnOffsetCommitV4,
  Writer,
} from '@platformatic/kafka'
