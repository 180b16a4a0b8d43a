import type { SqlTransaction } from '../../contract/handler.ts'
import { type Decimal, decimalOf, negated, sumOf, zero } from '../declared/decimal.ts'
import type { ContributionStatements } from './statements.ts'

/**
 * The balances of a ledger that must not fall below zero, locked for the rest of the transaction. A key
 * without a row starts at zero, so the first entry of a key cannot be a withdrawal.
 */
export class Balances {
  readonly #columns: readonly string[]
  readonly #guarded: readonly string[]
  readonly #sql: ContributionStatements
  readonly #held = new Map<string, Decimal[]>()

  constructor(columns: readonly string[], guarded: readonly string[], sql: ContributionStatements) {
    this.#columns = columns
    this.#guarded = guarded
    this.#sql = sql
  }

  get guarded(): boolean {
    return this.#guarded.length > 0
  }

  async lock(tx: SqlTransaction, keys: readonly string[]): Promise<void> {
    const asked = [...new Set(keys)].filter(key => !this.#held.has(key))
    if (!this.guarded || asked.length === 0) return
    const { rows } = await tx.query<Record<string, string>>(this.#sql.lockBalances, [asked])
    for (const key of asked)
      this.#held.set(
        key,
        this.#columns.map(() => zero),
      )
    for (const row of rows)
      this.#held.set(
        row.key!,
        this.#columns.map(column => decimalOf(row[column]!)!),
      )
  }

  /** Books all entries, or none if they would take a guarded balance below zero. */
  book(entries: readonly { readonly key: string; readonly values: readonly Decimal[] }[]): boolean {
    if (!this.guarded) return true
    const after = new Map<string, Decimal[]>()
    for (const { key, values } of entries) {
      const before = after.get(key) ?? this.#held.get(key)!
      after.set(
        key,
        before.map((amount, n) => sumOf(amount, values[n]!)),
      )
    }
    for (const [key, amounts] of after) {
      const fell = (amount: Decimal, n: number) =>
        this.#guarded.includes(this.#columns[n]!) &&
        amount.units < 0n &&
        fallen(amount, this.#held.get(key)![n]!)
      if (amounts.some(fell)) return false
    }
    for (const [key, amounts] of after) this.#held.set(key, amounts)
    return true
  }
}

/** An entry that raises a balance is accepted even if the balance stays below zero. */
function fallen(after: Decimal, before: Decimal): boolean {
  return sumOf(after, negated(before)).units < 0n
}

export const decimals = (values: readonly (string | number)[]) =>
  values.map(value => decimalOf(String(value))!)
