// Keeps pods off nodes that cost more than a profile wants to pay, and prefers the cheaper ones. What a node costs
// stands in one of its labels.
import {
  definePlugin,
  definePlugins,
  maxScore,
  type NodeTable,
  number,
  pluginFactory,
  proceed,
  record,
  required,
  text,
  unresolvable,
} from 'berth/scheduler';

// Made once: a filter is called for every node and should allocate nothing. Taking other pods away would not help,
// so they are "unresolvable".
const noPrice = unresolvable('node(s) had no price', ['node/added', 'node/labels']);
const tooDear = unresolvable('node(s) were too dear', ['node/added', 'node/labels']);

const cheapNodes = pluginFactory({
  name: 'CheapNodes',
  /**
   * `label` says where the price is, `most` is the highest that is paid.
   * Anything else in the configuration is refused with its line.
   */
  args: record({ label: required(text()), most: required(number(0.01, 1_000_000)) }),
  create({ label, most }) {
    const priceOf = (nodes: NodeTable, row: number): number => Number(nodes.nodes[row]?.metadata?.labels?.[label] ?? Number.NaN);
    return definePlugin({
      name: 'CheapNodes',
      // What it says of a node hangs on that node alone, and on nothing of the pod:
      // the scheduler remembers it until the node changes.
      prepare: () => proceed(undefined, { shape: '' }),
      filter(_, nodes, row) {
        const price = priceOf(nodes, row);
        if (!(price >= 0)) return noPrice;
        return price > most ? tooDear : undefined;
      },
      explain(_, nodes, row) {
        const price = priceOf(nodes, row);
        return price >= 0
          ? `costs ${price} by its label ${label}, at most ${most} is paid`
          : `has no price in its label ${label}`;
      },
      score(_, nodes, rows, scores) {
        for (let i = 0; i < rows.length; i++) scores[i] = maxScore * (1 - priceOf(nodes, rows[i]!) / most);
      },
    });
  },
});

export default definePlugins([cheapNodes]);
