import type { MetricDefinition } from '../../../api/metrics/index.ts';

/** Text in Prometheus' format 0.0.4, family after family. */
export class ExpositionPage {
  #text = '';

  /**
   * Begins a family; without samples it is left out. `values` gives labels as text and numbers;
   * NaN is not known and left out.
   */
  family({ name, type, help }: MetricDefinition, samples: Iterable<readonly [labels: string, value: number]>): void {
    let lines = '';
    for (const [labels, value] of samples)
      if (!Number.isNaN(value)) lines += labels === '' ? `${name} ${value}\n` : `${name}{${labels}} ${value}\n`;
    if (lines !== '') this.#text += `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n${lines}`;
  }

  text(): string {
    return this.#text;
  }
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

/** `a="1",b="2"`, in the order given. */
export function labelsText(labels: Readonly<Record<string, string>>): string {
  let text = '';
  for (const name in labels) text += `${text === '' ? '' : ','}${name}="${escapeLabel(labels[name]!)}"`;
  return text;
}

function escapeLabel(value: string): string {
  return /[\\"\n]/.test(value) ? value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n') : value;
}
