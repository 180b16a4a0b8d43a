/** The sections of a source document: number, and a short title in our words. */
export interface SourceDocument {
  readonly id: '000' | '001' | '003' | '004'
  readonly about: string
  readonly sections: readonly (readonly [number: string, title: string])[]
}

const numbered = (text: string): [string, string][] =>
  text
    .trim()
    .split('\n')
    .map(line => {
      const [number, ...words] = line.trim().split(' ')
      return [number!, words.join(' ')]
    })

/** Document 002 has the text of 000. */
export const documents: readonly SourceDocument[] = [
  {
    id: '000',
    about: 'Idempotency and deduplication of queue consumers',
    sections: numbered(`
      intro Introduction
      1 The nine skills
      2 The core invariant
      3 Causes of redelivery
      4 Idempotency and deduplication
      5 Natural idempotency
      6 The inbox table
      7 Choice of the key
      8 Consumer skeleton
      9 Check, then insert
      10 Processing state and stuck messages
      11 External side effects
      11.1 External idempotency key
      11.2 Local side-effect outbox
      11.3 Side-effect ledger
      12 Projections
      13 State transitions
      14 Dedup window and retention
      15 Payload hash and conflicts
      16 Retry and idempotency
      17 Redelivery count
      18 Time of the acknowledgement
      19 Isolation and locks
      19.1 Unique constraint first
      19.2 Optimistic versions
      19.3 Pessimistic lock
      19.4 Idempotent upsert
      20 Streams
      21 Windows and aggregation
      22 Observability
      23 Runbook of a duplicate spike
      24 Test strategy
      24.1 Duplicate delivery
      24.2 Crash between commit and ack
      24.3 Concurrent duplicates
      25 Anti-patterns
      26 Review checklist
      27 Practice drill
      28 Summary
      refs References
    `),
  },
  {
    id: '001',
    about: 'Delivery semantics and consumer correctness',
    sections: numbered(`
      intro Introduction
      1 The basic semantics
      2 At most once
      3 At least once
      4 The scope of exactly once
      5 Effectively once
      6 Acknowledgement and offset commit
      7 The offset is consumer state
      8 Order and delivery
      9 Duplicates by effect
      10 The idempotent consumer
      11 States of a processed message
      12 Claims and stale claims
      13 Transaction boundary
      14 External side effects
      15 Retry semantics
      16 Retry topics or a blocked partition
      17 Dead letters
      18 Parking lot
      19 Poison messages
      20 Deserialization failures
      21 Versions: order and idempotency
      22 Rebalance
      23 Batches
      24 Consumer transactions
      25 Outbox and inbox
      26 Matrix of guarantees
      27 Consumer skeleton
      28 Message envelope
      29 Metrics
      30 Alerts
      31 Minimum tests
      32 Duplicate test
      33 Crash window test
      34 Policy template
      35 Anti-patterns
      35.1 Assuming no duplicates
      35.2 Committing before the work
      35.3 Endless retries of poison
      35.4 Dead letters without an owner
      35.5 Global order
      35.6 Side effects without keys
      35.7 Ignored deserialization failures
      35.8 Exactly once as a broker switch
      35.9 No lag alert
      35.10 Unsafe replay
      36 Decision model
      37 Review checklist
      38 Conclusion
      refs References
    `),
  },
  {
    id: '003',
    about: 'Inbox, deduplication and consumer state',
    sections: numbered(`
      intro Introduction
      1 Effects outlive memory
      2 Outbox and inbox
      3 Forms of consumer state
      3A Processed message table
      3B Inbox table
      3C Version in the projection
      3D Contribution table
      3E External idempotency key
      4 Identities
      5 Two layers of state
      6 Minimal processed-message consumer
      7 Marker and effect in one transaction
      8 States of the inbox
      9 Store, then process
      10 Offset commit with an inbox
      11 Partition order and concurrency
      12 Commands from events
      13 Idempotency by sink
      14 Transaction boundary
      15 Failure matrix
      16 Claim time-out and dead workers
      17 Retention and cleanup
      18 Audit evidence
      19 Metrics
      20 Interfaces
      21 Deletes and corrections
      22 Backfill
      23 Anti-patterns
      24 Production checklist
      25 Summary
      refs References
    `),
  },
  {
    id: '004',
    about: 'Correctness patterns of log consumers',
    sections: numbered(`
      intro Introduction
      1 The skill
      1.1 Subskills
      2 The correctness equation
      3 Delivery semantics
      3.1 At most once
      3.2 At least once
      3.3 Effectively once
      3.4 Exactly once
      4 Kinds of side effects
      5 Pattern 1: at most once
      5.1 Shape of at most once
      5.2 Use of at most once
      5.3 Failure of at most once
      6 Pattern 2: at least once
      6.1 Shape of at least once
      6.2 Guarantee of at least once
      6.3 Example of at least once
      7 Pattern 3: unique event id
      7.1 Schema of the marker
      7.2 Marker and effect together
      7.3 Crash matrix
      8 Pattern 4: versioned projection
      8.1 Versions only rise
      8.2 What versions solve
      8.3 What versions do not solve
      9 Pattern 5: ledger
      9.1 Why a ledger
      10 Pattern 6: external call
      10.1 Rule of external effects
      11 Pattern 7: transition guard
      12 Pattern 8: partition order
      12.1 Asynchronous work breaks order
      12.2 Partition workers
      13 Pattern 9: contiguous offsets
      13.1 Tracker
      14 Pattern 10: partial batch failure
      14.1 Batches by partition
      15 Error classes
      16 Poison
      17 Deserialization boundary
      18 Rebalance
      18.1 Revocation
      19 Transaction with a local database
      20 Offsets in the database
      21 Kafka transactions
      22 Key design
      22.1 Choice of the key
      23 Dedup window
      24 Time and order
      25 Test matrix
      26 Example projection
      26.1 Event
      26.2 Handler
      26.3 Poll loop
      27 Submitted tasks
      28 Consumer contract
      29 Production checklist
      30 Anti-patterns
      30.1 Kafka guarantees it
      30.2 Offset as identity
      30.3 Ignored duplicates
      30.4 Blind increments
      30.5 Parallelism without offset discipline
      30.6 Dead letters without replay
      31 Summary
      32 References
    `),
  },
]
