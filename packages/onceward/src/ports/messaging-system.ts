/** The broker's name in the semantic conventions, where they have one. */
export function messagingSystem(kind: string): string {
  return systems[kind] ?? kind
}

const systems: Readonly<Record<string, string>> = {
  'rabbitmq-stream': 'rabbitmq',
  postgres: 'postgresql',
}
