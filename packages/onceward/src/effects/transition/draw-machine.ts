import type { StateMachine } from './state-machine.ts'

/** The machine as a Mermaid state diagram. States without outgoing events are final. */
export function drawMachine({ initial, states, events }: StateMachine): string {
  const ids = new Map(states.map((state, index) => [state, `s${index}`]))
  const lines = states.map(state => `  state "${quotable(state)}" as ${ids.get(state)}`)
  const leads = new Set<string>()
  const opening: string[] = []
  const steps: string[] = []
  for (const [event, declared] of Object.entries(events)) {
    for (const { from, to } of [declared].flat()) {
      for (const one of [from].flat()) {
        if (one === null) opening.push(quotable(event))
        else {
          leads.add(one)
          steps.push(`  ${ids.get(one)} --> ${ids.get(to)} : ${quotable(event)}`)
        }
      }
    }
  }
  const label = opening.length === 0 ? '' : ` : ${opening.join(', ')}`
  const ends = states.filter(state => !leads.has(state)).map(state => `  ${ids.get(state)} --> [*]`)
  return ['stateDiagram-v2', ...lines, `  [*] --> ${ids.get(initial)}${label}`, ...steps, ...ends].join('\n')
}

/** Mermaid has no escapes here, so characters that would end a label are removed. */
function quotable(text: string): string {
  return text.replaceAll(/["\\;:#\n\r]/g, ' ').trim()
}
