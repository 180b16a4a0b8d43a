/**
 * Everything we take from `@platformatic/kafka`: encoders and decoders of requests, connections, checksums,
 * compression, error names. No other file of the library imports the client. Groups, fetches, offsets and
 * transactions are ours.
 *
 * The client is an optional peer: who reads no Kafka need not install it. Within its major version every name
 * below must exist and encode the same bytes; `test/kafka/versions/client-versions.test.ts` holds the oldest
 * and the newest version of the range against the one installed here.
 */
export {
  type API,
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
