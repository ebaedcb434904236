import { visible } from '../printers/visible.ts';
import type { WhyAnswer, WhyObstacle } from './workload-facts.ts';

/** So many pods of one obstacle are named, unless all are wanted. */
const mostNamed = 5;

/** The answer as text. */
export function answerText(answer: WhyAnswer, { all = false } = {}): string {
  const parts = [
    answer.headline,
    ...answer.obstacles.map((obstacle) => obstacleText(obstacle, all ? Number.POSITIVE_INFINITY : mostNamed)),
    ...answer.notes.map((note) => `Note: ${note}.`),
  ];
  return `${parts.map(visibleLines).join('\n\n')}\n`;
}

function obstacleText({ what, pods, details }: WhyObstacle, most: number): string {
  const named = pods.slice(0, most).join(', ');
  const names = pods.length > most ? `${named} and ${pods.length - most} more (--all names them)` : named;
  return [what, ...(names === '' ? [] : [`  ${names}`]), ...details.map((line) => `  ${line}`)].join('\n');
}

/** Log lines, names and messages may hold anything. */
function visibleLines(text: string): string {
  return text.split('\n').map(visible).join('\n');
}
