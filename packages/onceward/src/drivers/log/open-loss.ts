import type { Checkpoints, Loss, OpenLoss, Ownership, Position } from '../../ports/source.ts'

/**
 * True when continuing after the loss would go back in the same incarnation of the log, as when the log
 * seemed to end before the position.
 */
export function goesBack({ from, to }: Pick<Loss, 'from' | 'to'>): boolean {
  return to !== null && to.incarnation === from.incarnation && Number(to.next) < Number(from.next)
}

export function isDeclaredAt(openLoss: OpenLoss | undefined, position: Position): openLoss is OpenLoss {
  return openLoss?.from.incarnation === position.incarnation && openLoss.from.next === position.next
}

/**
 * A log that ends before the position grows while its loss waits for an operator, and the new records were
 * never read. Declared again, the loss keeps the earlier position to continue from.
 */
export function declaredAgain(loss: Loss, openLoss: OpenLoss | undefined): Loss {
  if (!isDeclaredAt(openLoss, loss.from) || !goesBack(openLoss) || !goesBack(loss)) return loss
  return Number(openLoss.to!.next) < Number(loss.to!.next) ? { ...loss, to: openLoss.to } : loss
}

/**
 * The loss of a log that did not reach the position when it was declared, and now has younger records before
 * the position.
 */
export function stillLost(partition: string, { from, to }: OpenLoss): Loss {
  const reason = `the log ended before ${from.next} when this loss was declared, and has grown past it since: its records from ${to?.next} on may never have been read`
  return { partition, from, to, records: null, reason }
}

/**
 * Called once a log is known to have everything from `position` on: a loss declared exactly there did not
 * happen. A log that seemed to end before the position may have lost its end and grown past it since. Such a
 * loss is withdrawn only when the caller has ruled this out.
 */
export async function withdrawLossAt(
  checkpoints: Checkpoints,
  { partition, epoch, openLoss }: Pick<Ownership, 'partition' | 'epoch' | 'openLoss'>,
  position: Position,
  { isSameLog }: { readonly isSameLog: boolean },
): Promise<void> {
  if (!isDeclaredAt(openLoss, position) || (goesBack(openLoss) && !isSameLog)) return
  const reason = `the log has its records from ${position.next} on after all: reading continues there`
  await checkpoints.withdrawLoss(partition, epoch, position, reason)
}
