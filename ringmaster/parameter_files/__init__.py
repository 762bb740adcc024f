"""Parameter files of other tuners: recognise, read and write them."""

from ringmaster.parameter_files.columns import ROUNDING as ROUNDING
from ringmaster.parameter_files.columns import rounded_otherwise as rounded_otherwise
from ringmaster.parameter_files.entries import Entry as Entry
from ringmaster.parameter_files.entries import ParameterFile as ParameterFile
from ringmaster.parameter_files.entries import PowerOfTwo as PowerOfTwo
from ringmaster.parameter_files.entries import ReadOptions as ReadOptions
from ringmaster.parameter_files.entries import arguments as arguments
from ringmaster.parameter_files.entries import plain as plain
from ringmaster.parameter_files.formats import FORMATS as FORMATS
from ringmaster.parameter_files.formats import read_file as read_file
from ringmaster.parameter_files.formats import recognised as recognised
from ringmaster.parameter_files.formats import write_file as write_file
from ringmaster.parameter_files.reading import LARGEST as LARGEST
from ringmaster.parameter_files.reading import Text as Text
from ringmaster.parameter_files.reading import number as number
from ringmaster.parameter_files.reading import number_text as number_text
