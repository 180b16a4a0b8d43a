import { produceV12 } from '../../../src/drivers/kafka/client/produce-request.ts'
import { encodeRecordBatch } from '../../../src/drivers/kafka/client/record-batch.ts'
import { endTxnV5, txnOffsetCommitV5 } from '../../../src/drivers/kafka/client/transaction-requests.ts'
import * as wire from '../../../src/drivers/kafka/client/wire.ts'
import { fetchRecords } from '../../../src/drivers/kafka/fetch-response.ts'

const topicId = '0190a5f0-1111-7222-8333-444455556666'
const [group, member] = ['group', 'member']
const identity = { producerId: 7n, producerEpoch: 3, sequence: 11, transactional: true }
const batch = encodeRecordBatch(
  [
    {
      key: Buffer.from('k'),
      value: null,
      headers: [['h', Buffer.from('v')]],
      timestampMs: 1_700_000_000_000,
    },
  ],
  identity,
)

/** One call of every request we send, with arguments as our own calls have them. */
export const sampleRequests: Readonly<Record<string, (connection: wire.Connection) => Promise<unknown>>> = {
  ApiVersions0: one => wire.apiVersionsV0.api.async(one, 'onceward', '0'),
  ApiVersions4: one => wire.apiVersionsV4.api.async(one, 'onceward', '0'),
  Metadata: one => wire.metadataV12.api.async(one, ['t', 'u'], false),
  CreateTopics: one =>
    wire.createTopicsV7.api.async(
      one,
      [
        {
          name: 't',
          numPartitions: 3,
          replicationFactor: -1,
          assignments: [],
          configs: [{ name: 'a', value: 'b' }],
        },
      ],
      10_000,
      false,
    ),
  DescribeConfigs: one =>
    wire.describeConfigsV4.api.async(
      one,
      [{ resourceType: 2, resourceName: 't', configurationKeys: ['retention.ms'] }],
      false,
      false,
    ),
  FindCoordinator: one => wire.findCoordinatorV6.api.async(one, 1, ['key']),
  ListOffsets: one =>
    wire.listOffsetsV9.api.async(one, -1, 1, [
      { name: 't', partitions: [{ partitionIndex: 2, currentLeaderEpoch: 5, timestamp: -1n }] },
    ]),
  OffsetForLeaderEpoch: one =>
    wire.offsetForLeaderEpochV4.api.async(one, -1, [
      { name: 't', partitions: [{ partitionIndex: 2, currentLeaderEpoch: 5, leaderEpoch: 4 }] },
    ]),
  Fetch: one =>
    fetchRecords(one, {
      maxWaitMs: 500,
      bytesMax: 1_000_000,
      isolation: 'committed',
      topicId,
      partitions: [
        {
          partition: 2,
          currentLeaderEpoch: 5,
          fetchOffset: 9_007_199_254_740_993n,
          lastFetchedEpoch: 4,
          partitionMaxBytes: 65_536,
        },
      ],
    }),
  OffsetCommit: one =>
    wire.offsetCommitV9.api.async(one, group, 4, member, 'instance', [
      {
        name: 't',
        partitions: [
          { partitionIndex: 2, committedOffset: 12n, committedLeaderEpoch: 5, committedMetadata: 'm' },
        ],
      },
    ]),
  OffsetFetch: one =>
    wire.offsetFetchV9.api.async(
      one,
      [
        {
          groupId: group,
          memberId: member,
          memberEpoch: 4,
          topics: [{ name: 't', partitionIndexes: [0, 1] }],
        },
      ],
      true,
    ),
  JoinGroup: one =>
    wire.joinGroupV9.api.async(
      one,
      group,
      6_000,
      60_000,
      '',
      null,
      'consumer',
      [{ name: 'cooperative-sticky', metadata: wire.encodeConsumerProtocolSubscription(subscription) }],
      '',
    ),
  SyncGroup: one =>
    wire.syncGroupV5.api.async(one, group, 4, member, 'instance', 'consumer', 'cooperative-sticky', [
      { memberId: member, assignment: wire.encodeConsumerProtocolAssignment(assignment) },
    ]),
  Heartbeat: one => wire.heartbeatV4.api.async(one, group, 4, member, null),
  LeaveGroup: one =>
    wire.leaveGroupV5.api.async(one, group, [{ memberId: member, groupInstanceId: null, reason: 'closed' }]),
  ConsumerGroupHeartbeat: one =>
    wire.consumerGroupHeartbeatV1.api.async(one, group, member, 0, null, null, 60_000, ['t'], null, null, [
      { topicId, partitions: [0, 1] },
    ]),
  InitProducerId: one => wire.initProducerIdV5.api.async(one, 'transactional', 60_000),
  Produce: one => produceV12.async(one, 'transactional', 5_000, { topic: 't', partition: 2, batch }),
  TxnOffsetCommit: one =>
    txnOffsetCommitV5.async(one, 'transactional', group, 7n, 3, 4, member, null, [
      {
        name: 't',
        partitions: [
          { partitionIndex: 2, committedOffset: 12n, committedLeaderEpoch: 5, committedMetadata: 'm' },
        ],
      },
    ]),
  EndTxn: one => endTxnV5.async(one, 'transactional', 7n, 3, true),
  AddPartitionsToTxn: one =>
    wire.addPartitionsToTxnV3.api.async(one, [
      {
        transactionalId: 'transactional',
        producerId: 7n,
        producerEpoch: 3,
        verifyOnly: false,
        topics: [{ name: 'orders', partitions: [0, 2] }],
      },
    ]),
  AddOffsetsToTxn: one => wire.addOffsetsToTxnV4.api.async(one, 'transactional', 7n, 3, group),
  DescribeProducers: one =>
    wire.describeProducersV0.api.async(one, [{ name: 'orders', partitionIndexes: [0, 2] }]),
}

const subscription = {
  version: 3,
  topics: ['t'],
  ownedPartitions: [{ topic: 't', partitions: [0, 2] }],
  generationId: 4,
  rackId: null,
}
const assignment = { version: 3, assignedPartitions: [{ topic: 't', partitions: [0, 2] }] }

/** What else is used of the client, as text. */
export function sampleValues(): Record<string, unknown> {
  const bytes = Buffer.from('a checksum over these bytes, and again, and again, and again')
  const codecs = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const
  return {
    crc32c: wire.crc32c(bytes),
    subscription: wire.decodeConsumerProtocolSubscription(
      wire.encodeConsumerProtocolSubscription(subscription),
    ),
    assignment: wire.decodeConsumerProtocolAssignment(wire.encodeConsumerProtocolAssignment(assignment)),
    codecs: codecs.map(name => {
      const { bitmask, compressSync } = wire.compressionsAlgorithms[name]
      const packed = compressSync(bytes) as Buffer
      const unpacked =
        bitmask === 0 ? packed : wire.compressionsAlgorithmsByBitmask[bitmask]!.decompressSync(packed)
      return [name, bitmask, String(unpacked)]
    }),
    errors: Object.entries(wire.protocolErrorsCodesById).map(([code, name]) => [
      code,
      name,
      wire.protocolErrors[name]!.canRetry,
    ]),
    pool: ['get', 'close', 'on'].map(name => typeof (wire.ConnectionPool.prototype as never)[name]),
    responseError: new wire.ResponseError(1, 2, { '/': [3, null] }, { kept: true }).response,
    responseCode: new wire.ResponseError(1, 2, { '/': [3, null] }, {}).code,
  }
}
