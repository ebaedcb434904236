export * from './definition.ts';
export * from './exposition.ts';
export * from './instruments.ts';
export * from './registry.ts';
