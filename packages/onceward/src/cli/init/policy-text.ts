import type { ProjectAnswers } from './project.ts'

/**
 * The answers, and defaults for the rest. Answers are quoted as JSON, which is valid YAML.
 */
export function policyText({ name, owner, risk, source }: ProjectAnswers): string {
  const deadLetter = source === 'rabbitmq' || source === 'kafka' ? `      deadLetter: ${name}.dead\n` : ''
  return `# yaml-language-server: $schema=./node_modules/onceward/policy.schema.json
consumers:
  ${name}:
    owner: ${JSON.stringify(owner)}
    risk: ${risk}
    description: books each request once
    handlerVersion: "1"
    failure:
      mode: defer
      retry: { maxAttempts: 5, initialDelay: 1s, maxDelay: 1m }
${deadLetter}    replay:
      modes: [replay, repair, forensic]
      window: 30d
    objectives:
      lagMax: 1m
`
}
