/** The broker by the name the semantic conventions have for it, where they have one. */
export function messagingSystem(kind: string): string {
  return systems[kind] ?? kind
}

const systems: Readonly<Record<string, string>> = {
  'rabbitmq-stream': 'rabbitmq',
  postgres: 'postgresql',
}
