import type { ProjectAnswers } from './project.ts'

/** `payment_capture` → `payment-capture`. */
export function fileName({ name }: Pick<ProjectAnswers, 'name'>): string {
  return name.replaceAll('_', '-')
}
