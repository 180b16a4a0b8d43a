/** What kind of failure an error is; each class has its own policy. */
export type FailureClass =
  | 'transient'
  | 'overload'
  | 'rate limited'
  | 'business conflict'
  | 'validation'
  | 'poison'
  | 'configuration'
  | 'corruption'

/** How often and how long a failed message is retried, and where it ends. See `docs/failure.md`. */
export interface FailureSection {
  /**
   * Attempts of one message before it is parked, counted in the database. Default 5. Failure classes with
   * their own budget do not count here.
   */
  attemptsMax?: number
  /** Delay before the second attempt. Default 1 s, doubled per attempt up to `delayMaxMs` (default 60 s). */
  delayMs?: number
  delayMaxMs?: number
  /** Default true: the delay is random, from zero to the doubled value. */
  jitter?: boolean
  /**
   * Where a failed message waits for its next attempt. Default `block`: the delivery stays unacknowledged and
   * its lane waits. `defer`: the store keeps the message and the broker is acknowledged; later messages of
   * its key wait behind it, other keys continue. `retry queue`: a RabbitMQ queue holds a copy, which returns
   * behind later messages; only with order `none`. `retry topic`: the same on Kafka.
   */
  mode?: 'block' | 'defer' | 'retry queue' | 'retry topic'
  /**
   * Maps an error code, class name, SQLSTATE (`40001`, `23xxx`) or HTTP status (`503`, `5xx`) to a failure
   * class. Consulted before the defaults.
   */
  classes?: Record<string, FailureClass>
  /** Per failure class, the settings that differ from those above. */
  policies?: Partial<Record<FailureClass, ClassPolicy>>
  /** When a message that fails repeatedly in the same way is poison. */
  poison?: PoisonSection
  /** Pauses the source while a dependency is unavailable. `false` switches it off. */
  breaker?: FailureBreaker | false
  /** Pauses an event type while most of its messages fail for one new cause. `false` switches it off. */
  brake?: FailureBrake | false
  /** What happens to a message that the broker delivers again and again. Default: nothing. */
  redelivery?: RedeliverySection
  /**
   * What happens to a message without attempts left. Default `parked`: it is kept for an operator, and with
   * order `key` later messages of its key wait behind it. `dead-lettered`: it is kept, and later messages
   * pass it. `stop`: its lane waits, and the message is retried without limit; attempts are counted and
   * reported, and other lanes continue. A class with a `terminal` of its own keeps that. In both of the first
   * two cases the dead-letter queue gets a copy, if there is one.
   */
  exhausted?: 'parked' | 'dead-lettered' | 'stop'
  /**
   * How many messages may be parked. Beyond that, further messages wait at the source. Nothing is dropped; a
   * log line and a metric report it.
   */
  parking?: ParkingSection
  /**
   * A queue on the same broker that receives a copy of dead letters, of quarantined messages and of messages
   * whose attempts ran out, or an object with more settings for dead letters.
   */
  deadLetter?: string | DeadLetterSection
}

/** Settings of one failure class that differ from those of the section. */
export interface ClassPolicy {
  /** Attempts for this class alone. 1: never retried. */
  attemptsMax?: number
  delayMs?: number
  delayMaxMs?: number
  /**
   * The final outcome of this class. `halted`: the consumer stops before the message and settles nothing.
   * `ignored`, only for business conflicts: the conflict shows that the effect is there, so the message
   * counts as done.
   */
  terminal?: 'parked' | 'dead-lettered' | 'quarantined' | 'halted' | 'ignored'
  /**
   * Whether such failures count towards the breaker. Default: transient, overload, rate limited and
   * configuration do, configuration not if it is `halted`.
   */
  breaker?: boolean
}

export interface PoisonSection {
  /**
   * Failures with the same class, code and place after which the message is parked as poison, even with
   * attempts left. Default: all its attempts, and never for classes that count towards the breaker.
   */
  maxAttemptsBeforePark?: number
}

export interface FailureBreaker {
  /** Consecutive failures that open the breaker, of at least two messages. Default 5. */
  failuresMax?: number
  /**
   * Pause before one message is tried. Default 1 s, doubled after each failed trial up to `pauseMaxMs`
   * (default 60 s).
   */
  pauseMs?: number
  pauseMaxMs?: number
}

export interface FailureBrake {
  /**
   * Messages that failed in the handler for one cause, under at least two keys. Default 20 for risk money,
   * regulatory and notification, otherwise 50.
   */
  messagesMin?: number
  /**
   * Their share of the recent messages of the type, from 0.05 to 1. Default 0.25 for risk money, regulatory
   * and notification, otherwise 0.5.
   */
  shareMin?: number
  /**
   * Pause before one message of the type is tried. Default 1 s, doubled after each failed trial up to
   * `pauseMaxMs` (default 60 s).
   */
  pauseMs?: number
  pauseMaxMs?: number
}

export interface RedeliverySection {
  /**
   * Earlier deliveries of a message, as the broker counts them, from which on `action` applies. The count
   * never decides whether a message was applied: a repeat of an applied one is still a duplicate.
   */
  countMax: number
  /**
   * Default `isolated`: the message is tried in a transaction of its own. `slowed`: it waits before it is
   * tried, longer with each delivery, between `delayMs` and `delayMaxMs`. `set aside`: it is not tried, and
   * ends as poison.
   */
  action?: 'slowed' | 'isolated' | 'set aside'
}

export interface DeadLetterSection {
  /** Queue or topic on the same broker that receives a copy. */
  to?: string
  /** The team responsible for dead letters. Default: the consumer's owner. */
  owner?: string
  /** True: a message that would be dead-lettered is parked instead, and an operator decides. */
  manualReviewRequired?: boolean
  /**
   * Who, on the business side, accepts that later messages of a key or partition pass a dead letter. Without
   * it, an ordered consumer of risk money or regulatory parks the message (order `key`), or its contract is
   * refused (order `partition`).
   */
  passingAcceptedBy?: string
}

export interface ParkingSection {
  /** Messages parked behind the first one of a key. Default 10,000; a batch may exceed it by its own size. */
  perKeyMax?: number
  /** All parked messages of the consumer. Default 1,000,000. */
  totalMax?: number
}
