import { effect, signal } from '@preact/signals'

export type Theme = 'system' | 'light' | 'dark'

const stored = 'onceward-theme'
const order: readonly Theme[] = ['system', 'light', 'dark']

export const theme = signal<Theme>(order.find(one => one === localStorage.getItem(stored)) ?? 'system')

effect(() => {
  document.documentElement.dataset.theme = theme.value
  localStorage.setItem(stored, theme.value)
})

export function turnTheme(event: Event): void {
  event.stopPropagation()
  theme.value = order[(order.indexOf(theme.value) + 1) % order.length]!
}
