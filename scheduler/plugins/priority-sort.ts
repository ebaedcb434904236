import { definePlugin } from '../framework/plugin.ts';

/** Pods with a higher priority first; among equals, the one that waits longest. */
export const prioritySort = definePlugin({
  name: 'PrioritySort',
  queueOrder: (a, b) => b.pod.priority - a.pod.priority || a.queuedAt - b.queuedAt || a.sequence - b.sequence,
});
