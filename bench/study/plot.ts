import type { Runs, Sample } from './simulate.ts';
import { meanOf, shareAbove } from './summary.ts';

/** One panel: where it is, and what its axes mean. */
interface Panel {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  readonly title: string;
  /** The largest value; the smallest is 0. */
  readonly most: number;
  readonly step: number;
  readonly lengthMs: number;
}

interface Point {
  readonly at: number;
  readonly value: number;
}

const everyMs = 5 * 60_000;
const hourMs = 3_600_000;
const size = { width: 960, height: 620 };

/**
 * The study as a picture: how far apart the nodes are, and how many have too much to do,
 * by requests alone and usage-aware.
 */
export function plotStudy({ requestsOnly, usageAware }: Runs): string {
  const lengthMs = requestsOnly.at(-1)!.at;
  const wide = { left: 64, width: 872, lengthMs };
  const narrow = { top: 64, width: 412, height: 240, most: 1.5, step: 0.25, lengthMs };
  const [before, after] = [thin(requestsOnly), thin(usageAware)];
  const most = Math.max(0.02, ...[...before, ...after].map(({ demand }) => shareAbove(demand, 0.9)));
  const below: Panel = {
    ...wide,
    top: 380,
    height: 160,
    title: 'Nodes with more than 90 % of their CPU wanted',
    most: Math.ceil(most * 20) / 20,
    step: 0.05,
  };
  return [
    head(),
    ...nodesPanel({ ...narrow, left: 64, title: 'Requests only: CPU wanted on each node' }, before, 'before'),
    ...nodesPanel({ ...narrow, left: 524, title: 'Usage-aware: CPU wanted on each node' }, after, 'after'),
    ...frame(below),
    line(below, overloaded(before), 'before'),
    line(below, overloaded(after), 'after'),
    ...legend(),
    '</svg>',
    '',
  ].join('\n');
}

const overloaded = (samples: readonly Sample[]): Point[] =>
  samples.map(({ at, demand }) => ({ at, value: shareAbove(demand, 0.9) }));

/** The middle of each five minutes: more does not fit on paper. */
function thin(samples: readonly Sample[]): Sample[] {
  const chosen = new Map<number, Sample>();
  for (const sample of samples) {
    const slot = Math.floor(sample.at / everyMs);
    if (!chosen.has(slot)) chosen.set(slot, sample);
  }
  return [...chosen.values()];
}

/** Nine of ten nodes in the dark band, all of them in the light one. */
function nodesPanel(panel: Panel, samples: readonly Sample[], name: string): string[] {
  const quantile = (share: number): Point[] =>
    samples.map(({ at, demand }) => {
      const sorted = [...demand].sort((a, b) => a - b);
      return { at, value: sorted[Math.round(share * (sorted.length - 1))]! };
    });
  const mean = samples.map(({ at, demand }) => ({ at, value: meanOf(demand) }));
  return [
    ...frame(panel),
    band(panel, quantile(0), quantile(1), `${name} all`),
    band(panel, quantile(0.05), quantile(0.95), `${name} most`),
    line(panel, mean, name),
    `<path class="limit" d="M${x(panel, 0)} ${y(panel, 1)}H${x(panel, panel.lengthMs)}"/>`,
  ];
}

const x = ({ left, width, lengthMs }: Panel, at: number): string => (left + (width * at) / lengthMs).toFixed(1);
const y = ({ top, height, most }: Panel, value: number): string => (top + height * (1 - Math.min(value, most) / most)).toFixed(1);
const corners = (panel: Panel, points: readonly Point[]): string =>
  points.map(({ at, value }) => `${x(panel, at)} ${y(panel, value)}`).join('L');

function line(panel: Panel, points: readonly Point[], name: string): string {
  return `<path class="line ${name}" d="M${corners(panel, points)}"/>`;
}

function band(panel: Panel, low: readonly Point[], high: readonly Point[], name: string): string {
  return `<path class="band ${name}" d="M${corners(panel, low)}L${corners(panel, [...high].reverse())}Z"/>`;
}

function frame(panel: Panel): string[] {
  const { left, top, width, height, title, most, step, lengthMs } = panel;
  const lines: string[] = [`<text class="title" x="${left}" y="${top - 14}">${title}</text>`];
  for (let i = 0; i * step <= most + 1e-9; i++) {
    const at = y(panel, i * step);
    lines.push(`<path class="grid" d="M${left} ${at}h${width}"/>`);
    lines.push(`<text class="label end" x="${left - 8}" y="${Number(at) + 4}">${Math.round(i * step * 100)} %</text>`);
  }
  for (let hour = 0; hour * hourMs <= lengthMs + everyMs; hour += 4)
    lines.push(`<text class="label middle" x="${x(panel, hour * hourMs)}" y="${top + height + 18}">${hour}:00</text>`);
  return lines;
}

function legend(): string[] {
  const at = size.height - 22;
  return [
    `<path class="line before" d="M64 ${at - 4}h28"/><text class="label" x="100" y="${at}">requests only</text>`,
    `<path class="line after" d="M204 ${at - 4}h28"/><text class="label" x="240" y="${at}">usage-aware</text>`,
    `<text class="label" x="360" y="${at}">line: mean of all nodes; dark band: nine nodes in ten; light band: all; dashed: what a node has</text>`,
  ];
}

function head(): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${size.height}" width="${size.width}" height="${size.height}" role="img" aria-labelledby="title description">
<title id="title">A day of 100 nodes, placed by requests alone and usage-aware</title>
<desc id="description">With placements by requests alone the nodes' CPU use lies far apart and some always have too much to do; usage-aware it stays together.</desc>
<style>
text { font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; font-size: 13px; fill: #334155; }
.title { font-size: 14px; font-weight: 600; fill: #0f172a; }
.label { font-size: 12px; fill: #475569; }
.middle { text-anchor: middle; }
.end { text-anchor: end; }
.paper { fill: #ffffff; }
.grid { fill: none; stroke: #e2e8f0; }
.limit { fill: none; stroke: #475569; stroke-dasharray: 5 4; }
.line { fill: none; stroke-width: 1.6; }
.before { stroke: #d97706; fill: #d97706; }
.after { stroke: #2563eb; fill: #2563eb; }
.line.before, .line.after { fill: none; }
.band { stroke: none; }
.all { fill-opacity: 0.14; }
.most { fill-opacity: 0.26; }
@media (prefers-color-scheme: dark) {
text { fill: #cbd5e1; }
.title { fill: #f8fafc; }
.label { fill: #a8b4c6; }
.paper { fill: #0d1117; }
.grid { stroke: #30363d; }
.limit { stroke: #a8b4c6; }
.before { stroke: #fbbf24; fill: #fbbf24; }
.after { stroke: #60a5fa; fill: #60a5fa; }
}
</style>
<rect class="paper" width="${size.width}" height="${size.height}" rx="8"/>`;
}
