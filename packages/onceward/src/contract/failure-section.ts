export type FailureClass =
  | 'transient'
  | 'overload'
  | 'rate limited'
  | 'business conflict'
  | 'validation'
  | 'poison'
  | 'configuration'
  | 'corruption'

export interface FailureSection {
  /**
   * Default 5. Attempts of one message, counted durably, before it is parked. Classes with a budget of their
   * own do not count here.
   */
  attemptsMax?: number
  /** Default 1 s, doubled per attempt up to `delayMaxMs` (default 60 s). */
  delayMs?: number
  delayMaxMs?: number
  /** Default true: anything from zero to the doubled delay. */
  jitter?: boolean
  /**
   * Default `block`: the delivery is held unacked, its lane waits. `defer`: the message is kept in the store
   * until its next try and the broker told; later ones of its key wait behind it, others flow. `retry queue`:
   * it waits in a queue of RabbitMQ and comes back behind later ones; only with order `none`. `retry topic`:
   * the same on Kafka.
   */
  mode?: 'block' | 'defer' | 'retry queue' | 'retry topic'
  /**
   * Error code, class name, SQLSTATE (`40001`, `23xxx`) or HTTP status (`503`, `5xx`) → failure class, before
   * the defaults.
   */
  classes?: Record<string, FailureClass>
  /** What a class does, where it is not what everybody does. */
  policies?: Partial<Record<FailureClass, ClassPolicy>>
  /** Ends a message early that fails in the same way again and again. Default: only the attempts decide. */
  poison?: PoisonSection
  /** Pauses the source while the downstream is away. `false` switches it off. */
  breaker?: FailureBreaker | false
  /**
   * What happens to a message that does not get through. Default `set aside`: parked with everything needed
   * to come back. `stop`: its lane waits before it for as long as it takes, attempts being counted and
   * reported; other lanes go on.
   */
  exhausted?: 'set aside' | 'stop'
  /**
   * How much may be parked before what comes next waits at the source instead. Nothing is dropped; a log line
   * and a metric say so.
   */
  parking?: ParkingSection
  /**
   * Queue on the same broker that gets a copy of dead letters and quarantined messages, or what else is said
   * of them.
   */
  deadLetter?: string | DeadLetterSection
}

export interface ClassPolicy {
  /** A budget of its own. 1: never tried again. */
  attemptsMax?: number
  delayMs?: number
  delayMaxMs?: number
  /** Where a message of this class ends. `halted`: the consumer stops before it and nothing is settled. */
  terminal?: 'parked' | 'dead-lettered' | 'quarantined' | 'halted'
  /**
   * Whether such failures say that the downstream is away. Default: transient, overload and rate limited do.
   */
  breaker?: boolean
}

export interface PoisonSection {
  /** The same class, code and place this often: parked, whatever attempts are left. */
  maxAttemptsBeforePark?: number
}

export interface FailureBreaker {
  /** Failures without a success between them, of two messages at least. Default 5. */
  failuresMax?: number
  /**
   * Until one message is tried. Default 1 s, doubled after each that fails up to `pauseMaxMs` (default 60 s).
   */
  pauseMs?: number
  pauseMaxMs?: number
}

export interface DeadLetterSection {
  /** Queue or topic on the same broker that gets a copy. */
  to?: string
  /** Who answers for them. Default the consumer's owner. */
  owner?: string
  /** Nothing is dead-lettered by itself: what would be is parked, for a person to decide. */
  manualReviewRequired?: boolean
  /**
   * Who, on the business side, accepts that later messages of a key or partition go on past a dead letter.
   * Without it an ordered consumer of risk money or regulatory parks instead (order `key`) or is refused
   * (order `partition`).
   */
  passingAcceptedBy?: string
}

export interface ParkingSection {
  /** Default 10,000. Messages behind the parked head of one key; a batch may go past it by its own size. */
  perKeyMax?: number
  /** Default 1,000,000. Parked messages of the consumer in all. */
  totalMax?: number
}
