/** What a person chooses for an act. */
export interface Choices {
  readonly because: string
  readonly ramp: boolean
  readonly perSecond: string
  readonly label: string
  readonly assignee: string
}

export function RedriveChoices({
  of,
  set,
}: {
  readonly of: Choices
  readonly set: (change: Partial<Choices>) => void
}) {
  return (
    <>
      <label class="check">
        <input type="checkbox" checked={of.ramp} onChange={() => set({ ramp: !of.ramp })} />
        <span>
          <b>Ramp</b>: 1, then 10, then 100, then the rest. It stops when more than 10 % of the tried messages
          are parked again.
        </span>
      </label>
      <label class="field">
        <span>At most per second (optional)</span>
        <input
          type="number"
          min="1"
          max="100000"
          value={of.perSecond}
          onInput={event => set({ perSecond: event.currentTarget.value })}
        />
      </label>
    </>
  )
}
