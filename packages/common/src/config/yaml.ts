/** The parser, in a module of its own: it costs memory that a program without a configuration file need not pay. */
export { parse } from 'yaml';
